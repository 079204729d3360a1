import ssh2, { type Client } from 'ssh2';
import { isDeadlineError, withDeadline } from '../../../lib/deadline.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { type CallObserver, noopCallObserver, observeCall } from '../../../lib/observers.ts';
import type { SecretString } from '../../../lib/secret-string.ts';
import { trimTrailing } from '../../../lib/text.ts';
import { RescueClient } from './rescue-client.ts';
import { parseSshPrivateKey, sshKeyFingerprint } from './ssh-key.ts';
import { SshSession } from './ssh-session.ts';

export { publicKeyOf } from './ssh-key.ts';

/** How one gets into a rescue system. */
export interface RescueAccess {
  readonly address: string;
  readonly port: number;
  /** In OpenSSH form, without a passphrase. */
  readonly privateKey: SecretString;
  /** `SHA256:…` as pinned in this activation; undefined: whatever answers first is taken and told. */
  readonly hostKey: string | undefined;
}

export interface OpenRescueOptions {
  /** Ends everything that is done over the connection. */
  readonly signal: AbortSignal;
  /** Until somebody has to have answered and let us in; default 20. */
  readonly seconds?: number;
  readonly observer?: CallObserver;
}

/**
 * Logs in as root with our key. An open port proves nothing, and a login only that somebody knows our key: who it is, `identify`
 * says. Throws RESCUE_UNREACHABLE, RESCUE_LOGIN_REFUSED, RESCUE_HOST_KEY_CHANGED or SSH_KEY_INVALID.
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
        const session = new SshSession({ client, where: authorityOf(access), signal: parent, observer });
        return new RescueClient(session, hostKey);
      } catch (error) {
        // What it says after we turned away interests nobody, but an error that nobody takes would end the process.
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

/** Another host key than the one that was pinned. */
class HostKeyChangedError extends Error {}

/** Answers with the fingerprint of the host key. */
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
      // The deadline is ours.
      readyTimeout: 0,
      // A cable that was pulled is noticed by nothing else.
      ...{ keepaliveInterval: 10_000, keepaliveCountMax: 3 },
      hostVerifier: (blob: Buffer) => {
        hostKey = sshKeyFingerprint(blob);
        if (pinned !== undefined && hostKey !== pinned) changed = new HostKeyChangedError(hostKey);
        return changed === undefined;
      },
    });
    // A login is a dozen small messages: each would wait for the other side's delayed acknowledgement, half a second in all.
    client.setNoDelay(true);
  });
}

function toLoginError(error: unknown, access: RescueAccess): ProviderError {
  const where = authorityOf(access);
  if (error instanceof HostKeyChangedError) {
    const detail = `${where} shows ${error.message}, and showed ${access.hostKey} before.`;
    return new ProviderError('RESCUE_HOST_KEY_CHANGED', detail, { cause: error });
  }
  const { level, message } = error as Error & { level?: string };
  if (level === 'client-authentication') {
    return new ProviderError('RESCUE_LOGIN_REFUSED', `${where}.`, { cause: error });
  }
  const reason = isDeadlineError(error) ? 'no answer in time' : trimTrailing(message.slice(0, 200), /[.\s]/);
  return new ProviderError('RESCUE_UNREACHABLE', `${where}: ${reason || 'no connection'}.`, { cause: error });
}
