import type { HostServer } from '../../../engine/host.ts';
import type { NodeHardware } from '../../../engine/node.ts';
import { toLabelValue } from '../../../engine/node-labels.ts';
import { done, fail, type Step, type StepOutcome, wait } from '../../../engine/step.ts';
import type { MaintenanceClient } from '../../../engine/talos-clients.ts';
import { getClaimedHost, type RobotStepContext, robotClientFor, secondsSince, textFact } from '../context.ts';
import { hasCode } from '../errors.ts';
import { runOrWait } from './run-or-wait.ts';
import { nodeVlanOf } from './vswitch.ts';

/**
 * Talos answers two minutes after it boots from the disk, on slow boards after five. Network boot may be tried on every
 * card before.
 */
const talosBootTimeoutSeconds = 900;

/**
 * Before: the server reboots. After: Talos answers at the server's address without a configuration, and has the
 * inspected network card. Done when a call of its API confirms it; an open port proves nothing.
 */
export const maintenanceReached: Step<RobotStepContext> = {
  name: 'maintenance-reached',
  deadlineMinutes: 20,
  run: (context) =>
    withMaintenanceClient(context, async (client, address) => {
      const stage = await client.stage();
      if (stage === 'maintenance') return verifyNetworkCards(await client.macs(), textFact(context, 'mac'));
      // The node has our configuration: the process ended between applying and recording it.
      return stage === 'configured' ? done() : wait(5, `Talos at ${address} is in stage ${stage}.`);
    }),
};

/**
 * Before: Talos waits for a configuration. After: it has ours. Done when Talos accepted it; the following steps prove
 * that it is in effect.
 */
export const configApplied: Step<RobotStepContext> = {
  name: 'config-applied',
  run: (context) =>
    withMaintenanceClient(context, async (client, address) => {
      const stage = await client.stage();
      if (stage === 'configured') return done();
      if (stage !== 'maintenance') return wait(5, `Talos at ${address} is in stage ${stage}.`);
      const outcome = verifyNetworkCards(await client.macs(), textFact(context, 'mac'));
      if (outcome.kind !== 'done') return outcome;
      const config = await context.machineConfig(await describeNodeHardware(context));
      await client.apply(config);
      return done();
    }),
};

/** Calls Talos in maintenance mode at the server's address. It may be unreachable for a while. */
async function withMaintenanceClient(
  context: RobotStepContext,
  work: (client: MaintenanceClient, address: string) => Promise<StepOutcome>,
): Promise<StepOutcome> {
  const address = textFact(context, 'address');
  const client = context.maintenance(address);
  try {
    return await runOrWait(() => work(client, address));
  } catch (error) {
    if (hasCode(error, 'TALOS_FOREIGN_NODE')) return fail('WrongSystem', describeForeignNode(address));
    if (!hasCode(error, 'TALOS_UNREACHABLE')) throw error;
    if ((secondsSince(context, 'rebootedAt') ?? 0) <= talosBootTimeoutSeconds)
      return wait(10, 'Talos is starting from its disk.');
    return fail(
      'TalosSilent',
      `Nothing answers at ${address} since the reboot. Check the console of the server: the firmware may not find the disk.`,
    );
  } finally {
    await client.close();
  }
}

const describeForeignNode = (address: string): string =>
  `The Talos node at ${address} belongs to another cluster: an earlier installation booted from another disk. Remove that disk, or set spec.wipe of the Host, and delete the Machine to recreate it.`;

/** Where Talos does not report its cards without a certificate, the address is the only check. */
function verifyNetworkCards(macs: readonly string[], mac: string): StepOutcome {
  if (macs.length === 0 || macs.includes(mac)) return done();
  return fail(
    'WrongServer',
    `The Talos node has the network cards ${macs.join(', ')} and not ${mac}. Nothing was sent to it.`,
  );
}

/** `spec.providerID` of the Node on a server, for the rest of its life. */
export const providerIdOfServer = (number: string | number): string => `hetzner-robot://${number}`;

/** The hardware of a server, from its Host, its section and the facts of its steps. */
export async function describeNodeHardware(context: RobotStepContext): Promise<NodeHardware> {
  const { number, server } = await getClaimedHost(context);
  // The gateway that the rescue system received by DHCP.
  const gateway = textFact(context, 'gateway') || (await fetchGateway(context, number));
  const [address, ipv6Net] = [textFact(context, 'address'), textFact(context, 'ipv6Net')];
  const vlan = nodeVlanOf(context);
  const { failoverAddress } = context.config;
  return {
    installDisk: textFact(context, 'installDisk'),
    imagePlatform: 'metal',
    providerId: providerIdOfServer(number),
    ...describeServer(server),
    links: [
      {
        mac: textFact(context, 'mac'),
        // The switch passes frames to the gateway only. With the real prefix, the node would try to reach its
        // neighbours directly and fail.
        addresses: [`${address}/32`, ...(ipv6Net ? [`${ipv6Net}1/64`] : [])],
        ...(gateway ? { gateway, onLinkGateway: true } : {}),
        ...(ipv6Net ? { gateway6: 'fe80::1' } : {}),
        ...(vlan ? { vlan } : {}),
      },
    ],
    ...(failoverAddress ? { floatingAddresses: [failoverAddress] } : {}),
  };
}

/** The product and the place of a server, e.g. `AX41-NVMe` in `fsn1`, `fsn1-dc18`. Nothing of what Robot does not say. */
function describeServer(server: HostServer | undefined): Pick<NodeHardware, 'instanceType' | 'topology'> {
  const { product = '', location = '' } = server ?? {};
  const instanceType = toLabelValue(product);
  const zone = toLabelValue(location.toLowerCase());
  const region = toLabelValue(zone.replace(/-.*$/s, ''));
  return {
    ...(instanceType === '' ? {} : { instanceType }),
    ...(region === '' ? {} : { topology: { region, zone } }),
  };
}

async function fetchGateway(context: RobotStepContext, number: number): Promise<string | undefined> {
  return (await robotClientFor(context, context.hosts.servers).getIp(number, context))?.gateway;
}
