import { done, fail, type Outcome, type Step, wait } from '../../engine/platform.ts';
import { type Context, heldHost, robotOf, textFact } from './ground.ts';
import { isLeftAlone } from './proof.ts';
import type { Robot } from './robot/client.ts';
import { faultCodeOf, hasCode } from './robot/errors.ts';
import type { VSwitchSummary } from './robot/schema.ts';
import { waitFor } from './robot/wait-for.ts';

/** Members come and go within half a minute. */
const pollSeconds = 10;

/**
 * Before: a Host is held. After: its server is a member of the vSwitch and has an address on it. Done when Robot says `ready`.
 * One with this VLAN is made when there is none; it stays when clusters go, since others may use it and it costs nothing.
 */
export const vswitchJoined: Step<Context> = {
  name: 'vswitch-joined',
  deadlineMinutes: 10,
  run: (context) =>
    waitFor(async () => {
      const { vswitch } = context.config;
      if (!vswitch) return done();
      const { spec } = await heldHost(context);
      const robot = robotOf(context, context.hosts.servers);
      const found = await findOrMake(robot, vswitch, context.signal);
      if (found.name !== vswitch.name) return fail('VSwitchForeign', describeForeign(found, vswitch));
      const state = await join(robot, found, spec.serverNumber, context.signal);
      if (typeof state !== 'string') return state;
      if (state !== 'ready') return wait(pollSeconds, `vSwitch ${found.name} is taking servers in.`);
      const { address, prefix } = await context.addresses.claim();
      return done({ vswitch: found.id, privateAddress: address, privatePrefix: prefix });
    }),
};

interface Wanted {
  readonly name: string;
  readonly vlan: number;
}

type Found = Pick<VSwitchSummary, 'id' | 'name'>;

/** Hetzner's documentation of vSwitches. */
export const most = { servers: 100, perServer: 5 };

/** In a sentence: the vSwitch with the VLAN is another one. */
export const describeForeign = ({ name }: Pick<Found, 'name'>, wanted: Wanted): string =>
  `The vSwitch with VLAN ${wanted.vlan} is called ${name} and not ${wanted.name}. Correct hetznerRobot.vswitch.`;

/** In a sentence: no server more can join. */
export const describeFull = ({ name }: Pick<Found, 'name'>): string =>
  `vSwitch ${name} has ${most.servers} servers, and Robot allows no more. Take one out of it, or name another in hetznerRobot.vswitch.`;

/** In a sentence: the server can join no vSwitch more. */
export const describeCrowded = (number: number): string =>
  `Server ${number} is in ${most.perServer} vSwitches already, and Robot allows no more. Take it out of one of them.`;

/** What limits say about it is for people to change, and told in words of ours. */
async function join(
  robot: Robot,
  vswitch: Found,
  number: number,
  signal: AbortSignal,
): Promise<'ready' | 'in process' | Outcome> {
  try {
    return await robot.attachServers(vswitch.id, [number], { signal });
  } catch (error) {
    const fault = faultCodeOf(error);
    if (fault === 'VSWITCH_SERVER_LIMIT_REACHED') return fail('VSwitchFull', describeFull(vswitch));
    if (fault === 'VSWITCH_PER_SERVER_LIMIT_REACHED') return fail('VSwitchesExhausted', describeCrowded(number));
    throw error;
  }
}

/** The vSwitch that servers would join: the one with this VLAN, whatever its name. */
export const pick = <T extends Pick<VSwitchSummary, 'vlan' | 'cancelled'>>(all: readonly T[], vlan: number) =>
  all.find((one) => one.vlan === vlan && !one.cancelled);

/** The vSwitch with this VLAN, whatever its name. Machines of one cluster come at the same time, and only one makes it. */
export async function findOrMake(robot: Robot, { name, vlan }: Wanted, signal: AbortSignal): Promise<Found> {
  const find = async () => pick(await robot.listVSwitches({ signal }), vlan);
  const found = await find();
  if (found) return found;
  try {
    return await robot.createVSwitch(name, vlan, { signal });
  } catch (error) {
    const made = hasCode(error, 'ROBOT_CONFLICT') ? await find() : undefined;
    if (made) return made;
    throw error;
  }
}

/** Before: anything. After: the server is a member no more. Done when Robot does not list it. */
export const vswitchLeft: Step<Context> = {
  name: 'vswitch-left',
  deadlineMinutes: 10,
  run: (context) =>
    waitFor(async () => {
      const { vswitch } = context.facts;
      const host = isLeftAlone(context) ? undefined : await context.hosts.held();
      if (typeof vswitch !== 'number' || !host) return done();
      const robot = robotOf(context, context.hosts.servers);
      const state = await robot.detachServers(vswitch, [host.spec.serverNumber], context);
      return state === 'gone' ? done() : wait(pollSeconds, 'The vSwitch is letting servers go.');
    }),
};

/** The private network of a server's card, out of what {@link vswitchJoined} left. */
export function vlanOf({ config, facts }: Pick<Context, 'config' | 'facts'>) {
  const address = textFact({ facts }, 'privateAddress');
  if (!config.vswitch || address === '') return undefined;
  const { vlan, mtu } = config.vswitch;
  return { id: vlan, mtu, addresses: [`${address}/${facts['privatePrefix']}`] };
}
