import type { Dispatcher } from 'undici';
import { within } from '../../../lib/deadline.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { type HttpReply, http, systemCodeOf } from '../../../lib/http.ts';
import type { Secret } from '../../../lib/secret.ts';
import { NoAnswer, RobotFault } from './errors.ts';
import { encodeForm } from './form.ts';
import type { Request } from './permit.ts';

export interface Wire {
  /** `https://host[:port]`. */
  readonly origin: string;
  readonly agent: Dispatcher;
  readonly user: Secret;
  readonly password: Secret;
}

/** A thousand servers fit in. */
const mostBytes = 8 * 1024 * 1024;

/**
 * One call over the wire; the text of its answer, which may be empty. Throws a {@link RobotFault} for every answer that is
 * none of success, a {@link NoAnswer} when there was none, a RangeError when it was too long, or the signal's reason. A redirect is such an answer: it is never
 * followed.
 */
export async function exchange(wire: Wire, request: Request, seconds: number, signal: AbortSignal): Promise<string> {
  const query = request.query ? `?${encodeForm(request.query)}` : '';
  const login = Buffer.from(`${wire.user.reveal()}:${wire.password.reveal()}`).toString('base64');
  return await within(seconds, signal, async (limited) => {
    const reply = await answered(
      http(`${wire.origin}${request.path}${query}`, {
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
    const text = await answered(reply.text(mostBytes));
    if (reply.status < 300 && !hasEnvelope(parseLeniently(text))) return text;
    throw new RobotFault(briefly(reply), parseLeniently(withoutSecrets(text, wire)));
  });
}

async function answered<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof ProviderError ? new NoAnswer(kindOf(error), error) : error;
  }
}

/** Before a connection stands nothing can have been sent. */
const unconnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EAI_FAIL|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT)$/;

function kindOf(error: ProviderError): NoAnswer['kind'] {
  if (error.code === 'TLS_UNTRUSTED') return 'untrusted';
  if (unconnected.test(systemCodeOf(error) ?? systemCodeOf(error.cause) ?? '')) return 'not-sent';
  return error.code === 'DEADLINE_EXCEEDED' ? 'late' : 'lost';
}

function parseLeniently(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A proxy's page, or nothing at all: the status has to tell, or the schema.
    return undefined;
  }
}

/** A refusal, whatever its status says. */
const hasEnvelope = (body: unknown): boolean =>
  typeof body === 'object' &&
  body !== null &&
  'error' in body &&
  typeof (body.error as { code?: unknown } | null)?.code === 'string';

/** Nobody knows what a refusal quotes. */
function withoutSecrets(text: string, { user, password }: Wire): string {
  const secrets = [user.reveal(), password.reveal()].filter((secret) => secret.length >= 6);
  return secrets.reduce((clean, secret) => clean.replaceAll(secret, '[secret]'), text);
}

/** Only what an error needs: it is kept as a cause. */
const briefly = ({ status, headers }: HttpReply): Pick<HttpReply, 'status' | 'headers'> => ({
  status,
  headers: headers['retry-after'] === undefined ? {} : { 'retry-after': headers['retry-after'] },
});
