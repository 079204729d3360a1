import type { ClusterPreviewContext, PreviewLine } from '../../../engine/capabilities/preview.ts';
import { type RobotClient, vswitchMemberError } from '../api/client.ts';
import type { VSwitch, VSwitchSummary } from '../api/schema.ts';
import type { RobotConfig } from '../config.ts';
import { robotClientFor } from '../context.ts';
import { describeUnknownFailover, findFailoverAddress } from '../endpoint-failover.ts';
import { toRobotHost } from '../hosts/robot-host.ts';
import {
  describeForeignVSwitch,
  describeFullVSwitch,
  describeVSwitchLimit,
  findByVlan,
  vswitchLimits,
} from '../steps/vswitch.ts';

type RobotClusterPreviewContext = ClusterPreviewContext<RobotConfig>;

/** One answer is reused for the whole preview. */
const previewMaxAgeSeconds = 60;

/** Previews the changes to the vSwitch and the failover address of a cluster. Changes nothing. */
export async function previewCluster(context: RobotClusterPreviewContext): Promise<readonly PreviewLine[]> {
  const robot = robotClientFor(context, context.hostedServers);
  return [...(await previewVSwitch(context, robot)), ...(await previewFailover(context, robot))];
}

const rejectionLine = (subject: string): PreviewLine => ({ effect: 'blocked', subject });
const formatServers = (numbers: readonly number[]): string =>
  `${numbers.length === 1 ? 'server' : 'servers'} ${numbers.join(', ')}`;

/** Which vSwitch would be created, its members, the servers that would join, and those that cannot. */
async function previewVSwitch(
  { config, machines, signal }: RobotClusterPreviewContext,
  robot: RobotClient,
): Promise<PreviewLine[]> {
  const { vswitch } = config;
  if (!vswitch) return [];
  const subject = `vSwitch ${vswitch.name} with VLAN ${vswitch.vlan}`;
  const all = await robot.listVSwitches({ signal });
  const summary = findByVlan(all, vswitch.vlan);
  if (summary && summary.name !== vswitch.name) return [rejectionLine(describeForeignVSwitch(summary, vswitch))];
  const found = summary && (await robot.getVSwitch(summary.id, { signal, maxAgeSeconds: previewMaxAgeSeconds }));
  const members = new Map(found?.members.map(({ number, status }) => [number, status]));
  const numbers = machines.map(({ host }) => toRobotHost(host).number);
  const failed = numbers.filter((number) => members.get(number) === 'failed');
  const kept = numbers.filter((number) => members.has(number) && !failed.includes(number));
  const foreignServers = numbers.filter((number) => !members.has(number));
  const serversAtLimit = await findServersAtVSwitchLimit(robot, {
    foreignServers,
    others: all.filter((one) => one !== summary),
    signal,
  });
  const fitting = foreignServers.filter((number) => !serversAtLimit.includes(number));
  const joining = fitting.slice(0, Math.max(0, vswitchLimits.servers - members.size));
  return [
    ...(found || fitting.length === 0 ? [] : [{ effect: 'creates', subject } as const]),
    ...(kept.length > 0 ? [{ effect: 'keeps', subject: `${subject}: ${formatServers(kept)} connected` } as const] : []),
    ...(joining.length > 0 ? [{ effect: 'joins', subject: `${subject}: ${formatServers(joining)}` } as const] : []),
    ...(found && failed.length > 0
      ? [
          rejectionLine(
            vswitchMemberError(
              failed.map((number) => ({ number })),
              found.id,
            ).message,
          ),
        ]
      : []),
    ...serversAtLimit.map((number) => rejectionLine(describeVSwitchLimit(number))),
    ...(joining.length < fitting.length
      ? [
          rejectionLine(
            `${describeFullVSwitch(vswitch)} Not connected: ${formatServers(fitting.slice(joining.length))}.`,
          ),
        ]
      : []),
  ];
}

/** Servers that are in the maximum number of vSwitches. With fewer vSwitches in the account, Robot is not called. */
async function findServersAtVSwitchLimit(
  robot: RobotClient,
  {
    foreignServers,
    others,
    signal,
  }: { foreignServers: readonly number[]; others: readonly VSwitchSummary[]; signal: AbortSignal },
): Promise<readonly number[]> {
  if (foreignServers.length === 0 || others.length < vswitchLimits.perServer) return [];
  const known: VSwitch[] = [];
  for (const { id } of others) known.push(await robot.getVSwitch(id, { signal, maxAgeSeconds: previewMaxAgeSeconds }));
  const timesIn = (number: number) =>
    known.filter(({ members }) => members.some((one) => one.number === number)).length;
  return foreignServers.filter((number) => timesIn(number) >= vswitchLimits.perServer);
}

/** The current and the future route of the failover address. */
async function previewFailover(context: RobotClusterPreviewContext, robot: RobotClient): Promise<PreviewLine[]> {
  const { config, machines, signal } = context;
  const { failoverAddress: ip } = config;
  if (ip === undefined) return [];
  const found = await findFailoverAddress(robot, ip, signal);
  if (!found) return [rejectionLine(describeUnknownFailover(ip))];
  const controlPlanes = machines
    .filter(({ role }) => role === 'controlplane')
    .map(({ host }) => toRobotHost(host).number);
  const { routedTo } = found;
  const servers =
    routedTo === undefined ? [] : await robot.listServers({ signal, maxAgeSeconds: previewMaxAgeSeconds });
  const server = servers.find(({ address, ipv6Net }) => routedTo === address || routedTo === ipv6Net);
  const target = server ? `server ${server.number}` : routedTo;
  const now = target === undefined ? 'not routed' : `routed to ${target}`;
  if (server && controlPlanes.includes(server.number)) {
    return [{ effect: 'keeps', subject: `failover address ${ip}: ${now} as long as the API server works there` }];
  }
  if (controlPlanes.length === 0) return [{ effect: 'keeps', subject: `failover address ${ip}: ${now}` }];
  return [
    {
      effect: 'routes',
      subject: `failover address ${ip} to the first healthy control plane of ${formatServers(controlPlanes)} (now ${now})`,
    },
  ];
}
