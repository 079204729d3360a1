import { done, fail, type Step, type StepOutcome, wait } from '../../../engine/step.ts';
import type { RobotClient } from '../api/client.ts';
import type { VSwitchSummary } from '../api/schema.ts';
import { findClaimedHost, getClaimedHost, type RobotStepContext, robotClientFor, textFact } from '../context.ts';
import { hasCode, robotErrorCodeOf } from '../errors.ts';
import { isUntouchable } from './release-proof.ts';
import { runOrWait } from './run-or-wait.ts';

/** Members are added and removed within half a minute. */
const memberPollSeconds = 10;

/**
 * Before: a Host is held. After: its server is a member of the vSwitch and has an address on it. Done when Robot
 * reports `ready`. Without a vSwitch of this VLAN one is created. It stays when clusters are deleted, since other
 * servers may use it and it costs nothing.
 */
export const vswitchJoined: Step<RobotStepContext> = {
  name: 'vswitch-joined',
  deadlineMinutes: 10,
  run: (context) =>
    runOrWait(async () => {
      const { vswitch } = context.config;
      if (!vswitch) return done();
      const { number } = await getClaimedHost(context);
      const robot = robotClientFor(context, context.hosts.servers);
      const found = await findOrCreateVSwitch(robot, vswitch, context.signal);
      if (found.name !== vswitch.name) return fail('VSwitchForeign', describeForeignVSwitch(found, vswitch));
      const state = await attachServer(robot, found, number, context.signal);
      if (typeof state !== 'string') return state;
      if (state !== 'ready') return wait(memberPollSeconds, `vSwitch ${found.name} is adding servers.`);
      const { address, prefix } = await context.addresses.claim();
      return done({ vswitch: found.id, privateAddress: address, privatePrefix: prefix });
    }),
};

interface DesiredVSwitch {
  readonly name: string;
  readonly vlan: number;
}

type ExistingVSwitch = Pick<VSwitchSummary, 'id' | 'name'>;

/** Limits of vSwitches, from Hetzner's documentation. */
export const vswitchLimits = { servers: 100, perServer: 5 };

/** The message for a VLAN that belongs to another vSwitch. */
export const describeForeignVSwitch = ({ name }: Pick<ExistingVSwitch, 'name'>, wanted: DesiredVSwitch): string =>
  `The vSwitch with VLAN ${wanted.vlan} has the name ${name} and not ${wanted.name}. Correct hetznerRobot.vswitch.`;

/** The message for a vSwitch without space for another server. */
export const describeFullVSwitch = ({ name }: Pick<ExistingVSwitch, 'name'>): string =>
  `vSwitch ${name} has ${vswitchLimits.servers} servers, the maximum of Robot. Remove one, or use another vSwitch in hetznerRobot.vswitch.`;

/** The message for a server that can join no further vSwitch. */
export const describeVSwitchLimit = (number: number): string =>
  `Server ${number} is in ${vswitchLimits.perServer} vSwitches, the maximum of Robot. Remove it from one of them.`;

/** A reached limit needs a user, so it fails with our own message. */
async function attachServer(
  robot: RobotClient,
  vswitch: ExistingVSwitch,
  number: number,
  signal: AbortSignal,
): Promise<'ready' | 'in process' | StepOutcome> {
  try {
    return await robot.attachServers(vswitch.id, [number], { signal });
  } catch (error) {
    const fault = robotErrorCodeOf(error);
    if (fault === 'VSWITCH_SERVER_LIMIT_REACHED') return fail('VSwitchFull', describeFullVSwitch(vswitch));
    if (fault === 'VSWITCH_PER_SERVER_LIMIT_REACHED') return fail('VSwitchesExhausted', describeVSwitchLimit(number));
    throw error;
  }
}

/** The vSwitch with this VLAN, whatever its name. */
export const findByVlan = <T extends Pick<VSwitchSummary, 'vlan' | 'cancelled'>>(all: readonly T[], vlan: number) =>
  all.find((one) => one.vlan === vlan && !one.cancelled);

/**
 * The vSwitch with this VLAN, whatever its name. Machines of one cluster need it at the same time, and only one creates
 * it.
 */
export async function findOrCreateVSwitch(
  robot: RobotClient,
  { name, vlan }: DesiredVSwitch,
  signal: AbortSignal,
): Promise<ExistingVSwitch> {
  const find = async () => findByVlan(await robot.listVSwitches({ signal }), vlan);
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

/** Before: anything. After: the server is no member any more. Done when Robot does not list it. */
export const vswitchLeft: Step<RobotStepContext> = {
  name: 'vswitch-left',
  deadlineMinutes: 10,
  run: (context) =>
    runOrWait(async () => {
      const { vswitch } = context.facts;
      const host = isUntouchable(context) ? undefined : await findClaimedHost(context);
      if (typeof vswitch !== 'number' || !host) return done();
      const robot = robotClientFor(context, context.hosts.servers);
      const state = await robot.detachServers(vswitch, [host.number], context);
      return state === 'gone' ? done() : wait(memberPollSeconds, 'The vSwitch is removing servers.');
    }),
};

/** The private network of a server's card, from the facts of {@link vswitchJoined}. */
export function nodeVlanOf({ config, facts }: Pick<RobotStepContext, 'config' | 'facts'>) {
  const address = textFact({ facts }, 'privateAddress');
  if (!config.vswitch || address === '') return undefined;
  const { vlan, mtu } = config.vswitch;
  return { id: vlan, mtu, addresses: [`${address}/${facts['privatePrefix']}`] };
}
