import type { CheckContext, Finding } from '../../engine/platform.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { RobotConfig } from './config.ts';
import { describeUnknown, findFailover } from './failover.ts';
import { robotOf, sshKeyOf } from './ground.ts';
import { publicKeyOf } from './rescue/connect.ts';

/** A login that works, a key that can be read, and what the section names. Changes nothing. */
export async function check(context: CheckContext<RobotConfig>): Promise<readonly Finding[]> {
  const { config, signal } = context;
  const robot = robotOf(context, () => new Set());
  const servers = await robot.listServers({ signal, maxAgeSeconds: 60 });
  if (servers.length === 0) {
    const message = 'The account of this webservice user has no servers. Use the credentials of the account that has.';
    return [{ field: 'hetznerRobot.credentialsRef', reason: 'AccountEmpty', message }];
  }
  return [
    ...checkKey(context),
    ...(config.failoverAddress ? await checkFailover(context, config.failoverAddress) : []),
  ];
}

function checkKey(context: CheckContext<RobotConfig>): Finding[] {
  try {
    publicKeyOf(sshKeyOf(context));
    return [];
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return [{ field: 'hetznerRobot.credentialsRef', reason: error.code, message: error.message }];
  }
}

async function checkFailover(context: CheckContext<RobotConfig>, address: string): Promise<Finding[]> {
  const found = await findFailover(
    robotOf(context, () => new Set()),
    address,
    context.signal,
  );
  if (found) return [];
  return [{ field: 'hetznerRobot.failoverAddress', reason: 'FailoverUnknown', message: describeUnknown(address) }];
}
