/** An HTTP response. A body is JSON. */
export interface OidcResponse {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An OAuth error (RFC 6749, 4.1.2.1 and 5.2). */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly code: string;
  readonly status: number;

  constructor(code: string, description: string, status = 400) {
    super(description);
    this.code = code;
    this.status = status;
  }

  toAnswer(): OidcResponse {
    const headers = this.status === 401 ? { 'www-authenticate': 'Basic realm="token"' } : {};
    return { status: this.status, body: { error: this.code, error_description: this.message }, headers };
  }
}

/** A parameter that may occur once; an empty one counts as absent (RFC 6749, 3.1). */
export function optionalParameter(parameters: URLSearchParams, name: string): string | undefined {
  const values = parameters.getAll(name);
  if (values.length > 1) throw new OAuthError('invalid_request', `${name} is there twice`);
  return values[0] || undefined;
}

/** A required parameter. */
export function requiredParameter(parameters: URLSearchParams, name: string): string {
  const value = optionalParameter(parameters, name);
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing`);
  return value;
}
