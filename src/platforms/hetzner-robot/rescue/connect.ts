import ssh2, { type Client } from 'ssh2';
import { isDeadlineError, withDeadline } from '../../../lib/deadline.ts';
import type { ProviderError } from '../../../lib/errors.ts';
import { type CallObserver, noopCallObserver, observeCall } from '../../../lib/observers.ts';
import type { SecretString } from '../../../lib/secret-string.ts';
import { trimTrailing } from '../../../lib/text.ts';
import { HetznerRobotError } from '../error-codes.ts';
import { RescueClient } from './rescue-client.ts';
import { parseSshPrivateKey, sshKeyFingerprint } from './ssh-key.ts';
import { SshSession } from './ssh-session.ts';

export { publicKeyOf } from './ssh-key.ts';

/** How to connect to a rescue system. */
export interface RescueAccess {
  readonly address: string;
  readonly port: number;
  /** Private key in OpenSSH format, without a passphrase. */
  readonly privateKey: SecretString;
  /** `SHA256:…` as pinned in this activation; undefined: the first host key is accepted and reported. */
  readonly hostKey: string | undefined;
}

export interface OpenRescueOptions {
  /** Ends all work over the connection. */
  readonly signal: AbortSignal;
  /** Timeout for connection and login together; default 20. */
  readonly seconds?: number;
  readonly observer?: CallObserver;
}

/**
 * Logs in as root with our key. An open port proves nothing, and a login proves only that the system knows our key:
 * `identify` tells which system it is. Throws RESCUE_UNREACHABLE, RESCUE_LOGIN_REFUSED, RESCUE_HOST_KEY_CHANGED or
 * SSH_KEY_INVALID.
 */
export async function openRescue(access: RescueAccess, options: OpenRescueOptions): Promise<RescueClient> {
  parseSshPrivateKey(access.privateKey);
  const { signal: parent, seconds = 20, observer = noopCallObserver } = options;
  const about = { system: 'rescue', name: 'login', signal: parent };
  return await observeCall(observer, about, () =>
    withDeadline(seconds, parent, async (signal) => {
      const client = new ssh2.Client();
      try {
        const hostKey = await logIn(client, access, signal);
        const session = new SshSession({ client, host: authorityOf(access), signal: parent, observer });
        return new RescueClient(session, hostKey);
      } catch (error) {
        // Errors after the rejection do not matter, but an unhandled error event would end the process.
        client.on('error', () => undefined);
        client.destroy();
        parent.throwIfAborted();
        throw toLoginError(error, access);
      }
    }),
  );
}

const authorityOf = ({ address, port }: RescueAccess): string =>
  `${address.includes(':') ? `[${address}]` : address}:${port}`;

/** The host key is not the pinned one. */
class HostKeyChangedError extends Error {}

/** Resolves with the fingerprint of the host key. */
function logIn(client: Client, access: RescueAccess, signal: AbortSignal): Promise<string> {
  const { address: host, port, privateKey, hostKey: pinned } = access;
  return new Promise((resolve, reject) => {
    let hostKey = '';
    let changed: HostKeyChangedError | undefined;
    const stop = (): void => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) return stop();
    client.once('ready', () => {
      signal.removeEventListener('abort', stop);
      client.off('error', fail);
      resolve(hostKey);
    });
    const fail = (error: Error): void => reject(changed ?? error);
    client.on('error', fail);
    client.once('close', () => reject(changed ?? new Error('the connection ended')));
    client.connect({
      ...{ host, port, username: 'root', privateKey: `${privateKey.reveal().trim()}\n` },
      // This function enforces the deadline itself.
      readyTimeout: 0,
      // Only keepalives detect a connection whose cable was pulled.
      ...{ keepaliveInterval: 10_000, keepaliveCountMax: 3 },
      hostVerifier: (blob: Buffer) => {
        hostKey = sshKeyFingerprint(blob);
        if (pinned !== undefined && hostKey !== pinned) changed = new HostKeyChangedError(hostKey);
        return changed === undefined;
      },
    });
    // A login is a dozen small messages. With Nagle's algorithm each would wait for a delayed acknowledgement, half a
    // second in all.
    client.setNoDelay(true);
  });
}

function toLoginError(error: unknown, access: RescueAccess): ProviderError {
  const where = authorityOf(access);
  if (error instanceof HostKeyChangedError) {
    const detail = `${where} presents ${error.message}, and presented ${access.hostKey} before.`;
    return new HetznerRobotError('RESCUE_HOST_KEY_CHANGED', detail, { cause: error });
  }
  const { level, message } = error as Error & { level?: string };
  if (level === 'client-authentication') {
    return new HetznerRobotError('RESCUE_LOGIN_REFUSED', `${where}.`, { cause: error });
  }
  const reason = isDeadlineError(error) ? 'timeout' : trimTrailing(message.slice(0, 200), /[.\s]/);
  return new HetznerRobotError('RESCUE_UNREACHABLE', `${where}: ${reason || 'no connection'}.`, { cause: error });
}
