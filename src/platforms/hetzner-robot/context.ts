import type { PlatformContext, StepContext } from '../../engine/contexts.ts';
import type { HostClaim } from '../../engine/host.ts';
import type { SecretString } from '../../lib/secret-string.ts';
import type { RobotClient } from './api/client.ts';
import { accountIdOf, connectRobot } from './api/connect.ts';
import type { RobotConfig } from './config.ts';
import { HetznerRobotError } from './error-codes.ts';
import { type RobotHost, toRobotHost, toServerNumbers } from './hosts/robot-host.ts';

export type RobotStepContext = StepContext<RobotConfig>;

/** The context of all work with Robot, for a machine, a Host or a ProviderConfig. */
export type RobotContext = PlatformContext<RobotConfig>;

/** Hetzner Robot, limited to the servers that have a Host. */
export function robotClientFor(context: RobotContext, servers: HostClaim['servers']): RobotClient {
  const { url, caBundle, credentialsRef, failoverAddress } = context.config;
  const failovers = new Set(failoverAddress === undefined ? [] : [failoverAddress]);
  return connectRobot(
    context,
    { credentialsName: credentialsRef.name, url, caBundle },
    { servers: () => toServerNumbers(servers()), failovers: () => failovers },
  );
}

/** The account in use, as facts name it. */
export const accountIdFor = ({ config, credentials }: Pick<RobotContext, 'config' | 'credentials'>): string =>
  accountIdOf(credentials, config.url);

/** The private SSH key for rescue systems. Throws CREDENTIALS_MISSING. */
export function rescueSshKey({ credentials, config }: Pick<RobotContext, 'credentials' | 'config'>): SecretString {
  const key = credentials['sshPrivateKey'];
  if (key && key.reveal().trim() !== '') return key;
  throw new HetznerRobotError(
    'CREDENTIALS_MISSING',
    `Secret ${config.credentialsRef.name} needs the key sshPrivateKey.`,
  );
}

/** The Host that this machine holds, read again. */
export async function findClaimedHost({ hosts }: Pick<RobotStepContext, 'hosts'>): Promise<RobotHost | undefined> {
  const host = await hosts.current();
  return host && toRobotHost(host);
}

/** The same. Throws HOST_LOST when the machine holds none any more. */
export async function getClaimedHost(context: Pick<RobotStepContext, 'hosts' | 'owner'>): Promise<RobotHost> {
  const host = await findClaimedHost(context);
  if (host) return host;
  throw new HetznerRobotError('HOST_LOST', `Machine ${context.owner.machine} holds no Host.`);
}

/** A fact of an earlier step, as text. */
export function textFact({ facts }: Pick<RobotStepContext, 'facts'>, name: string): string {
  const value = facts[name];
  return typeof value === 'string' ? value : '';
}

/**
 * Seconds since the time in a fact; undefined where there is none, or it lies in the future: the clock was set back.
 */
export function secondsSince(
  { facts, clock }: Pick<RobotStepContext, 'facts' | 'clock'>,
  name: string,
): number | undefined {
  const at = Date.parse(String(facts[name] ?? ''));
  const seconds = (clock.now().getTime() - at) / 1000;
  return seconds >= 0 ? seconds : undefined;
}
