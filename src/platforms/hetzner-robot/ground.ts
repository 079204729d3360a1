import type { Hosts, HostView } from '../../engine/host.ts';
import type { CheckContext, StepContext } from '../../engine/platform.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Secret } from '../../lib/secret.ts';
import type { RobotConfig } from './config.ts';
import type { Robot } from './robot/client.ts';
import { accountIdOf, connectRobot } from './robot/connect.ts';

export type Context = StepContext<RobotConfig>;

/** What any work with Robot needs, be it for a machine, for a Host or for a whole ProviderConfig. */
export type Ground = CheckContext<RobotConfig>;

/** Hetzner Robot, within the servers that have a Host. */
export function robotOf(ground: Ground, servers: Hosts['servers']): Robot {
  const { url, caBundle, credentialsRef, failoverAddress } = ground.config;
  const failovers = new Set(failoverAddress === undefined ? [] : [failoverAddress]);
  return connectRobot(
    ground,
    { credentialsName: credentialsRef.name, url, caBundle },
    { servers, failovers: () => failovers },
  );
}

/** The account that is used, as facts name it. */
export const accountOf = ({ config, credentials }: Pick<Ground, 'config' | 'credentials'>): string =>
  accountIdOf(credentials, config.url);

/** The key that opens rescue systems. Throws CREDENTIALS_MISSING. */
export function sshKeyOf({ credentials, config }: Pick<Ground, 'credentials' | 'config'>): Secret {
  const key = credentials['sshPrivateKey'];
  if (key && key.reveal().trim() !== '') return key;
  throw new ProviderError('CREDENTIALS_MISSING', `Secret ${config.credentialsRef.name} needs the key sshPrivateKey.`);
}

/** The Host that this machine holds, read anew. Throws HOST_LOST when it holds none: it had one. */
export async function heldHost({ hosts, owner }: Pick<Context, 'hosts' | 'owner'>): Promise<HostView> {
  const host = await hosts.held();
  if (host) return host;
  throw new ProviderError('HOST_LOST', `No Host is held by Machine ${owner.machine}.`);
}

/** A fact that an earlier step left, as text. */
export function textFact({ facts }: Pick<Context, 'facts'>, name: string): string {
  const value = facts[name];
  return typeof value === 'string' ? value : '';
}

/** Seconds since a time that a fact holds; undefined where there is none, or it lies ahead: the clock was set back. */
export function secondsSince({ facts, clock }: Pick<Context, 'facts' | 'clock'>, name: string): number | undefined {
  const at = Date.parse(String(facts[name] ?? ''));
  const seconds = (clock.now().getTime() - at) / 1000;
  return seconds >= 0 ? seconds : undefined;
}
