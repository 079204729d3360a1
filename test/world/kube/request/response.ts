import type { ServerResponse } from 'node:http';
import { stringify } from 'yaml';
import type { ApiError } from '../errors.ts';

/** An answer before it is sent, so that a fault can still lose it. */
export interface ApiResponse {
  readonly code: number;
  readonly body: unknown;
  readonly yaml?: boolean;
  /** Default: JSON or YAML, by `yaml`. */
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const okResponse = (body: unknown, code = 200): ApiResponse => ({ code, body });
export const textResponse = (code: number, body: string): ApiResponse => ({
  code,
  body,
  contentType: 'text/plain; charset=utf-8',
});

export function apiErrorResponse(error: ApiError): ApiResponse {
  const seconds = error.status.details?.retryAfterSeconds;
  return { code: error.code, body: error.status, ...(seconds ? { headers: { 'Retry-After': String(seconds) } } : {}) };
}

export function sendResponse(response: ServerResponse, answer: ApiResponse, warnings: readonly string[] = []): void {
  if (response.destroyed || response.headersSent) return;
  const body =
    typeof answer.body === 'string'
      ? answer.body
      : answer.yaml
        ? stringify(answer.body)
        : `${JSON.stringify(answer.body)}\n`;
  for (const warning of warnings) response.appendHeader('Warning', `299 - ${JSON.stringify(warning)}`);
  response.writeHead(answer.code, {
    'Content-Type': answer.contentType ?? (answer.yaml ? 'application/yaml' : 'application/json'),
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-cache, private',
    ...answer.headers,
  });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}
