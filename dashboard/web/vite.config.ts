/// <reference types="vitest/config" />
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** The hub that `vite dev` and `vite preview` speak to. */
const hub = process.env.HUB_URL ?? 'http://127.0.0.1:3000';

const SHARED = /\/src\/(ui|api)\/|\/node_modules\/(lucide-react|@tanstack|wouter|regexparam|openapi-fetch)\//;

const COMPRESSIBLE = /\.(js|css|html|svg|json)$/;
/** Below this a compressed copy saves no packet. */
const COMPRESS_FROM_BYTES = 1024;

/** Puts `.br` and `.gz` beside each text file, so that the hub compresses nothing while it serves. */
function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    enforce: 'post',
    generateBundle: {
      order: 'post',
      handler(_options, bundle) {
        for (const [fileName, file] of Object.entries(bundle)) {
          const bytes = Buffer.from(file.type === 'chunk' ? file.code : file.source);
          if (!COMPRESSIBLE.test(fileName) || bytes.length < COMPRESS_FROM_BYTES) continue;
          const br = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
          this.emitFile({ type: 'asset', fileName: `${fileName}.br`, source: br });
          this.emitFile({ type: 'asset', fileName: `${fileName}.gz`, source: gzipSync(bytes, { level: 9 }) });
        }
      },
    },
  };
}

const proxy = { '/api': { target: hub, changeOrigin: false } };

export default defineConfig({
  plugins: [react(), precompress()],
  build: {
    manifest: true,
    // A data: URL would need a hole in the content security policy.
    assetsInlineLimit: 0,
    target: 'es2022',
    rollupOptions: {
      output: {
        // What pages share comes with the first script. In files of their own these would be twenty small
        // requests, which take longer than all their bytes.
        manualChunks: (id) => (SHARED.test(id) ? 'shared' : undefined),
      },
    },
    // The themes are written with light-dark(), which older browsers do not know.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
  },
  worker: { format: 'es' },
  server: { proxy },
  preview: { proxy },
  test: {
    restoreMocks: true,
    // A document costs a second for each file, so only what draws gets one.
    projects: [
      { extends: true, test: { name: 'logic', environment: 'node', include: ['src/**/*.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'parts',
          environment: 'jsdom',
          include: ['src/**/*.test.tsx'],
          setupFiles: ['src/test/setup.ts'],
        },
      },
    ],
  },
});
