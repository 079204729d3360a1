import type { Dispatcher } from 'undici';
import { withDeadline } from '../../../lib/deadline.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { type HttpResponse, sendHttpRequest, systemCodeOf } from '../../../lib/net/http.ts';
import type { SecretString } from '../../../lib/secret-string.ts';
import { NoResponseError, RobotApiError } from '../errors.ts';
import { encodeForm } from './form.ts';
import type { RobotRequest } from './permit-request.ts';

export interface RobotConnection {
  /** `https://host[:port]`. */
  readonly origin: string;
  readonly agent: Dispatcher;
  readonly user: SecretString;
  readonly password: SecretString;
}

/** Large enough for a list of a thousand servers. */
const maxResponseBytes = 8 * 1024 * 1024;

/**
 * Sends one call and returns the text of its answer, which may be empty. Throws a {@link RobotApiError} for every
 * answer without success, a {@link NoResponseError} when there was none, a RangeError when it was too long, or the
 * signal's reason. A redirect is an answer without success and is never followed.
 */
export async function sendRobotRequest(
  wire: RobotConnection,
  request: RobotRequest,
  seconds: number,
  signal: AbortSignal,
): Promise<string> {
  const login = Buffer.from(`${wire.user.reveal()}:${wire.password.reveal()}`).toString('base64');
  return await withDeadline(seconds, signal, async (limited) => {
    const reply = await orNoResponse(
      sendHttpRequest(`${wire.origin}${request.path}`, {
        method: request.method,
        headers: {
          authorization: `Basic ${login}`,
          accept: 'application/json',
          ...(request.form && { 'content-type': 'application/x-www-form-urlencoded' }),
        },
        ...(request.form && { body: encodeForm(request.form) }),
        signal: limited,
        agent: wire.agent,
        redirects: 0,
      }),
    );
    const text = await orNoResponse(reply.text(maxResponseBytes));
    if (reply.status < 300 && !hasErrorEnvelope(parseLeniently(text))) return text;
    throw new RobotApiError(summarizeResponse(reply), parseLeniently(withoutSecrets(text, wire)));
  });
}

async function orNoResponse<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof ProviderError ? new NoResponseError(noResponseKind(error), error) : error;
  }
}

/** Error codes of failures before the connection is established: nothing was sent. */
const notSentCodes =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EAI_FAIL|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT)$/;

function noResponseKind(error: ProviderError): NoResponseError['kind'] {
  if (error.code === 'TLS_UNTRUSTED') return 'untrusted';
  if (notSentCodes.test(systemCodeOf(error) ?? systemCodeOf(error.cause) ?? '')) return 'not-sent';
  return error.code === 'DEADLINE_EXCEEDED' ? 'late' : 'lost';
}

function parseLeniently(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The body may be a proxy's page or empty. The status or the schema decides then.
    return undefined;
  }
}

/** True for an error body, whatever the status is. */
const hasErrorEnvelope = (body: unknown): boolean =>
  typeof body === 'object' &&
  body !== null &&
  'error' in body &&
  typeof (body.error as { code?: unknown } | null)?.code === 'string';

/** An error answer may quote the credentials. */
function withoutSecrets(text: string, { user, password }: RobotConnection): string {
  const secrets = [user.reveal(), password.reveal()].filter((secret) => secret.length >= 6);
  return secrets.reduce((clean, secret) => clean.replaceAll(secret, '[secret]'), text);
}

/** Only the fields that an error needs, because it is kept as a cause. */
const summarizeResponse = ({ status, headers }: HttpResponse): Pick<HttpResponse, 'status' | 'headers'> => ({
  status,
  headers: headers['retry-after'] === undefined ? {} : { 'retry-after': headers['retry-after'] },
});
