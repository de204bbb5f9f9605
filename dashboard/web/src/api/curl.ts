/** Calls of the API as a line for a shell. The token is a variable: a real one never stands in a page. */
export function curl(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: string): string {
  const parts = ['curl -sS'];
  if (method !== 'GET' && !(method === 'POST' && body !== undefined)) parts.push(`-X ${method}`);
  parts.push('-H "Authorization: Bearer $TOKEN"');
  if (body !== undefined) parts.push("-H 'Content-Type: application/json'", `-d ${quote(body)}`);
  parts.push(quote(location.origin + path));
  return parts.join(' \\\n  ');
}

/** As one word of a shell, whatever it contains. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
