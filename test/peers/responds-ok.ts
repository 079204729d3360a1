import { type Agent, request } from 'undici';

/** True when the address answers 200 within two seconds; false for a refused connection. */
export async function respondsOk(
  url: string,
  options: { agent?: Agent; headers?: Record<string, string> } = {},
): Promise<boolean> {
  try {
    const response = await request(url, {
      ...(options.agent ? { dispatcher: options.agent } : {}),
      ...(options.headers ? { headers: options.headers } : {}),
      signal: AbortSignal.timeout(2_000),
    });
    await response.body.dump();
    return response.statusCode === 200;
  } catch {
    return false;
  }
}
