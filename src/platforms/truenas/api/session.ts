import type { Clock } from '../../../lib/clock.ts';
import { deadlineSignal } from '../../../lib/deadline.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { type CertificatePin, fetchFingerprint } from '../../../lib/net/certificate-pin.ts';
import { systemCodeOf, toNetworkError } from '../../../lib/net/http.ts';
import type { SystemEndpoint } from '../config/config.ts';
import { TrueNasError } from '../error-codes.ts';
import { ConnectionLost, hasCode, toFingerprintError, toTrueNasError } from '../errors.ts';
import { logIn, type TrueNasCredentials, type UserRoles } from './auth/login.ts';
import { openRpc, type Rpc } from './rpc.ts';

export interface TrueNasSessionOptions extends TrueNasCredentials {
  readonly endpoint: SystemEndpoint;
  /** PEM; without CA and pin the public root certificates are trusted. */
  readonly ca?: string;
  readonly pin?: CertificatePin;
  readonly clock: Clock;
  readonly onNotification: (method: string, params: unknown) => void;
}

/** A connection after login. */
export interface TrueNasSession {
  readonly rpc: Rpc;
  readonly roles: UserRoles;
}

/**
 * Connects and logs in. Only over TLS: a login in plain text makes TrueNAS revoke the key (middleware:
 * plugins/auth.py). Throws a ProviderError that names the field at fault.
 */
export async function openTrueNasSession(options: TrueNasSessionOptions, signal: AbortSignal): Promise<TrueNasSession> {
  const { endpoint, ca, pin, clock, onNotification } = options;
  let rpc: Rpc | undefined;
  try {
    const trusted = { ...(ca ? { ca } : {}), ...(pin ? { pin } : {}) };
    rpc = await openRpc({ url: endpoint.socketUrl, ...trusted, clock, signal, onNotification });
    const roles = await logIn(rpc, options, signal);
    return { rpc, roles };
  } catch (error) {
    rpc?.close();
    signal.throwIfAborted();
    const known = toSessionError(error, endpoint.host);
    throw hasCode(known, 'TRUENAS_TLS_UNTRUSTED') ? await withServerFingerprint(known, endpoint.host, signal) : known;
  }
}

/** Adds the fingerprint of the shown certificate, to compare and to copy: TrueNAS starts with a self-signed one. */
async function withServerFingerprint(error: ProviderError, host: string, signal: AbortSignal): Promise<ProviderError> {
  const shown = await fetchFingerprint(host, deadlineSignal(fingerprintTimeoutSeconds, signal)).catch(() => '');
  signal.throwIfAborted();
  if (shown === '') return error;
  return error.with({ detail: `${error.detail} The SHA-256 of the presented certificate is ${shown}.` });
}

const fingerprintTimeoutSeconds = 10;

function toSessionError(error: unknown, host: string): ProviderError {
  if (error instanceof ConnectionLost && error.closeCode === 1008) {
    return new TrueNasError(
      'TRUENAS_LOGIN_DENIED',
      'The list of allowed addresses (System, General, GUI) does not contain the address of the provider.',
      { cause: error },
    );
  }
  if (error instanceof ConnectionLost)
    return new TrueNasError('TRUENAS_UNREACHABLE', `${host}: ${error.message}.`, { cause: error });
  const distrusted = toFingerprintError(error);
  if (distrusted) return distrusted;
  const known = toTrueNasError(error, 'auth.login_ex');
  if (known instanceof ProviderError) {
    // Up to 25.10 PRIVILEGE_WRITE includes itself, up to 26.0.0-BETA.3 SYSTEM_PRODUCT_WRITE (middleware: role.py).
    if (/maximum recursion depth/.test(known.detail)) {
      const message =
        'A role of that user includes itself: remove PRIVILEGE_WRITE and SYSTEM_PRODUCT_WRITE from its privilege.';
      return new TrueNasError('TRUENAS_KEY_REFUSED', message, { cause: error });
    }
    // A version without this login is far older than any with supported virtual machines.
    return hasCode(known, 'TRUENAS_NOT_FOUND')
      ? new TrueNasError('TRUENAS_VERSION_UNSUPPORTED', '', { cause: error })
      : known;
  }
  const network = toNetworkError(error, host);
  const code = network.code === 'TLS_UNTRUSTED' ? 'TRUENAS_TLS_UNTRUSTED' : 'TRUENAS_UNREACHABLE';
  return new TrueNasError(code, describeNetworkError(error, network, host), { cause: error });
}

function describeNetworkError(error: unknown, network: ProviderError, host: string): string {
  if (network.code === 'DEADLINE_EXCEEDED') return `${host} timed out.`;
  const message = error instanceof Error ? error.message.replace(/\s+/g, ' ').slice(0, 200) : '';
  return `${host}: ${message || (systemCodeOf(error) ?? 'no connection')}.`;
}
