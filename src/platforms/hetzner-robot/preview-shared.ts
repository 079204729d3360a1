import type { PreviewLine, SharedPreviewContext } from '../../engine/preview.ts';
import type { RobotConfig } from './config.ts';
import { describeUnknown, findFailover } from './failover.ts';
import { robotOf } from './ground.ts';
import { type Robot, unconnected } from './robot/client.ts';
import type { VSwitch, VSwitchSummary } from './robot/schema.ts';
import { describeCrowded, describeForeign, describeFull, most, pick } from './vswitch.ts';

type Context = SharedPreviewContext<RobotConfig>;

/** One answer is good for all questions of one preview. */
const maxAgeSeconds = 60;

/** What would become of the vSwitch and of the failover address of a cluster. Asks Robot, and changes nothing there. */
export async function previewShared(context: Context): Promise<readonly PreviewLine[]> {
  const robot = robotOf(context, context.servers);
  return [...(await previewVSwitch(context, robot)), ...(await previewFailover(context, robot))];
}

const refuses = (what: string): PreviewLine => ({ effect: 'refuses', what });
const listed = (numbers: readonly number[]): string =>
  `${numbers.length === 1 ? 'server' : 'servers'} ${numbers.join(', ')}`;

/** Which vSwitch would be made, who is in it, who would join it, and whom it or Robot would not take. */
async function previewVSwitch({ config, machines, signal }: Context, robot: Robot): Promise<PreviewLine[]> {
  const { vswitch } = config;
  if (!vswitch) return [];
  const what = `vSwitch ${vswitch.name} with VLAN ${vswitch.vlan}`;
  const all = await robot.listVSwitches({ signal });
  const summary = pick(all, vswitch.vlan);
  if (summary && summary.name !== vswitch.name) return [refuses(describeForeign(summary, vswitch))];
  const found = summary && (await robot.getVSwitch(summary.id, { signal, maxAgeSeconds }));
  const members = new Map(found?.members.map(({ number, status }) => [number, status]));
  const numbers = machines.map(({ host }) => host.spec.serverNumber);
  const failed = numbers.filter((number) => members.get(number) === 'failed');
  const kept = numbers.filter((number) => members.has(number) && !failed.includes(number));
  const strangers = numbers.filter((number) => !members.has(number));
  const crowded = await crowdedOf(robot, { strangers, others: all.filter((one) => one !== summary), signal });
  const fitting = strangers.filter((number) => !crowded.includes(number));
  const joining = fitting.slice(0, Math.max(0, most.servers - members.size));
  return [
    ...(found || fitting.length === 0 ? [] : [{ effect: 'makes', what } as const]),
    ...(kept.length > 0 ? [{ effect: 'keeps', what: `${what}: ${listed(kept)} in it` } as const] : []),
    ...(joining.length > 0 ? [{ effect: 'joins', what: `${what}: ${listed(joining)}` } as const] : []),
    ...(found && failed.length > 0
      ? [
          refuses(
            unconnected(
              failed.map((number) => ({ number })),
              found.id,
            ).message,
          ),
        ]
      : []),
    ...crowded.map((number) => refuses(describeCrowded(number))),
    ...(joining.length < fitting.length
      ? [refuses(`${describeFull(vswitch)} Left out: ${listed(fitting.slice(joining.length))}.`)]
      : []),
  ];
}

/** Those that are in as many vSwitches as a server can be. Where there are fewer, nobody is asked. */
async function crowdedOf(
  robot: Robot,
  {
    strangers,
    others,
    signal,
  }: { strangers: readonly number[]; others: readonly VSwitchSummary[]; signal: AbortSignal },
): Promise<readonly number[]> {
  if (strangers.length === 0 || others.length < most.perServer) return [];
  const known: VSwitch[] = [];
  for (const { id } of others) known.push(await robot.getVSwitch(id, { signal, maxAgeSeconds }));
  const timesIn = (number: number) =>
    known.filter(({ members }) => members.some((one) => one.number === number)).length;
  return strangers.filter((number) => timesIn(number) >= most.perServer);
}

/** Where the failover address leads, and where it would be led. */
async function previewFailover(context: Context, robot: Robot): Promise<PreviewLine[]> {
  const { config, machines, signal } = context;
  const { failoverAddress: ip } = config;
  if (ip === undefined) return [];
  const found = await findFailover(robot, ip, signal);
  if (!found) return [refuses(describeUnknown(ip))];
  const planes = machines.filter(({ role }) => role === 'controlplane').map(({ host }) => host.spec.serverNumber);
  const { routedTo } = found;
  const servers = routedTo === undefined ? [] : await robot.listServers({ signal, maxAgeSeconds });
  const server = servers.find(({ address, ipv6Net }) => routedTo === address || routedTo === ipv6Net);
  const now = server ? `server ${server.number}` : (routedTo ?? 'nobody');
  if (server && planes.includes(server.number)) {
    return [
      { effect: 'keeps', what: `failover address ${ip}: it leads to ${now} as long as the API server works there` },
    ];
  }
  if (planes.length === 0) return [{ effect: 'keeps', what: `failover address ${ip}: it leads to ${now}` }];
  return [
    {
      effect: 'leads',
      what: `failover address ${ip}: from ${now} to the first control plane that works, out of ${listed(planes)}`,
    },
  ];
}
