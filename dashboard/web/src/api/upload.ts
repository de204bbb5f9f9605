import { toApiError, unreachable } from './errors';
import { sha256Of } from './sha256';
import type { Solver } from './types';

interface Watch {
  /** How much has left this browser, 0 to 1. */
  onProgress?: (share: number) => void;
  signal?: AbortSignal;
}

/** Stores a program under its checksum; one that is there already is not stored twice. */
export async function uploadSolver(file: Blob, watch: Watch = {}): Promise<Solver> {
  const sha256 = await sha256Of(file);
  return (await put(`/api/solvers/${sha256}`, file, watch)) as Solver;
}

/** `fetch` does not tell how far an upload has come, so this is the older way. */
function put(path: string, body: Blob, { onProgress, signal }: Watch): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('PUT', path);
    request.setRequestHeader('content-type', 'application/octet-stream');
    request.responseType = 'json';
    request.upload.onprogress = ({ loaded, total }) => onProgress?.(total === 0 ? 1 : loaded / total);
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) resolve(request.response);
      else reject(toApiError(request.status, request.response));
    };
    request.onerror = () => reject(unreachable());
    request.onabort = () => reject(new DOMException('The upload was stopped.', 'AbortError'));
    signal?.addEventListener('abort', () => request.abort());
    request.send(body);
  });
}
