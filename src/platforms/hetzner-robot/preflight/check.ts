import type { PlatformContext } from '../../../engine/contexts.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import { ProviderError } from '../../../lib/errors.ts';
import type { RobotConfig } from '../config.ts';
import { rescueSshKey, robotClientFor } from '../context.ts';
import { describeUnknownFailover, findFailoverAddress } from '../endpoint-failover.ts';
import { publicKeyOf } from '../rescue/connect.ts';

/** Checks the login, the SSH key, and the objects that the section names. Changes nothing. */
export async function check(context: PlatformContext<RobotConfig>): Promise<readonly Diagnostic[]> {
  const { config, signal } = context;
  const robot = robotClientFor(context, () => new Set());
  const servers = await robot.listServers({ signal, maxAgeSeconds: 60 });
  if (servers.length === 0) {
    const message =
      'The account of this webservice user has no servers. Use the credentials of the account with the servers.';
    return [{ field: 'hetznerRobot.credentialsRef', reason: 'AccountEmpty', message }];
  }
  return [
    ...checkSshKey(context),
    ...(config.failoverAddress ? await checkFailover(context, config.failoverAddress) : []),
  ];
}

function checkSshKey(context: PlatformContext<RobotConfig>): Diagnostic[] {
  try {
    publicKeyOf(rescueSshKey(context));
    return [];
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return [{ field: 'hetznerRobot.credentialsRef', reason: error.code, message: error.message }];
  }
}

async function checkFailover(context: PlatformContext<RobotConfig>, address: string): Promise<Diagnostic[]> {
  const found = await findFailoverAddress(
    robotClientFor(context, () => new Set()),
    address,
    context.signal,
  );
  if (found) return [];
  return [
    { field: 'hetznerRobot.failoverAddress', reason: 'FailoverUnknown', message: describeUnknownFailover(address) },
  ];
}
