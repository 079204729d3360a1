import type { Hosts } from '../../engine/host.ts';
import { done, type Facts, fail, type Outcome, type Step, wait } from '../../engine/platform.ts';
import type { OwnNode } from '../../engine/talos-doors.ts';
import { ProviderError } from '../../lib/errors.ts';
import { armAnyway, ensureArmed, failArmed } from './arm-rescue.ts';
import { robotOf, secondsSince } from './ground.ts';
import { whyNotRescue } from './rescue/rescue.ts';
import { type Resettable, resetServer } from './reset-server.ts';
import { waitFor } from './robot/wait-for.ts';
import { inRescue, isSilent, type RescueGround } from './session.ts';

/** The server that is to be brought into its rescue system. */
export interface Patient extends Resettable {
  readonly address: string;
  /** Of all its cards, as found before; empty: not known yet. */
  readonly macs: readonly string[];
  readonly servers: Hosts['servers'];
  /** We have written to it, so that nothing on it can get lost. */
  readonly isOurs: boolean;
  /** The node that may run on it, where it may be restarted: that costs none of the resets that an account has in an hour. */
  readonly node?: OwnNode;
}

/** A reset is believed to have had no effect when rescue is still armed after so long: self test and network boot take a minute. */
const resetSeconds = 180;
/** The same of a node that restarts by itself: it ends what it runs first, and gives that two minutes at most. */
const restartSeconds = 300;
/** After an hour what was armed is armed no more, whether it was booted or not. */
const lapseSeconds = 3300;
/** From a reset to a rescue system that answers; the slowest boards need four minutes for it. */
const bootSeconds = 600;
/** So many resets one after the other make sense. */
const mostResets = 3;

/**
 * Three steps from any state of a server into its rescue system: armed, reset, proven. Nothing is written to a disk. `find`
 * gives the server, or undefined where nothing needs to be done. The names of the steps are part of our API.
 */
export function enterRescue<C extends RescueGround>(
  names: { readonly armed: string; readonly reset: string; readonly entered: string },
  find: (context: C) => Promise<Patient | undefined>,
): readonly Step<C>[] {
  const step = (name: string, run: (context: C, patient: Patient) => Promise<Outcome>): Step<C> => ({
    name,
    run: (context) =>
      waitFor(async () => {
        const patient = await find(context);
        return patient ? await run(context, patient) : done();
      }),
  });
  return [step(names.armed, arm), step(names.reset, reset), { ...step(names.entered, enter), deadlineMinutes: 20 }];
}

/** Done when rescue is armed with our key. What was learned of an earlier rescue system is void. */
async function arm(ground: RescueGround, { host, servers, isOurs, node }: Patient): Promise<Outcome> {
  const robot = robotOf(ground, servers);
  const rescueByNode = (await node?.answers()) ?? false;
  // What is armed lapses while its server waits for a reset.
  if (!rescueByNode) robot.checkResetBudget(host.spec.serverNumber);
  const refused = isOurs ? await armAnyway(ground, robot, host) : await ensureArmed(ground, robot, host);
  if (refused) return refused;
  const rescueArmedAt = ground.clock.now().toISOString();
  return done({
    ...{ rescueArmedAt, rescueByNode, rescueResetAt: '', rescueResets: 0 },
    ...{ rescueHostKey: '', rescueBootId: '' },
  });
}

/**
 * Done when the server was reset since rescue was armed, or its node has agreed to restart. Rescue that is armed no more was
 * booted: nothing is reset then. A node that is asked twice, since it is not known whether it was, minds one of the two.
 */
async function reset(ground: RescueGround, patient: Patient): Promise<Outcome> {
  const robot = robotOf(ground, patient.servers);
  const node = ground.facts['rescueByNode'] === true ? patient.node : undefined;
  if (!node) robot.checkResetBudget(patient.host.spec.serverNumber);
  const armedFor = secondsSince(ground, 'rescueArmedAt') ?? lapseSeconds;
  // What was armed a moment ago is still what is armed: only one can be.
  if (armedFor >= 10) {
    const boot = await robot.getBoot(patient.host.spec.serverNumber, { signal: ground.signal });
    if (boot.armedInstallers.length > 0) return failArmed(patient.host.spec.serverNumber, boot.armedInstallers);
    const isUsed = boot.rescue?.active === false;
    if (isUsed && armedFor < lapseSeconds)
      return done({ rescueResetAt: ground.clock.now().toISOString(), rescueResets: 1 });
    const refused = isUsed ? await ensureArmed(ground, robot, patient.host) : undefined;
    if (refused) return refused;
  }
  if (node) return await restart(ground, node);
  const refused = await resetServer(ground, robot, patient, 0);
  return refused ?? done({ rescueResetAt: ground.clock.now().toISOString(), rescueResets: 1 });
}

/** Done when the node has agreed. One that does not is left to the button. */
async function restart(ground: RescueGround, node: OwnNode): Promise<Outcome> {
  try {
    await node.restart();
  } catch (error) {
    ground.signal.throwIfAborted();
    if (!(error instanceof ProviderError)) throw error;
    return wait(1, `The node does not restart by itself, and its server is reset. ${error.message}`, {
      rescueByNode: false,
    });
  }
  return done({ rescueResetAt: ground.clock.now().toISOString(), rescueResets: 0 });
}

/** Done when what answers was proven to be the rescue system of this very server, booted by our reset. Its host key is pinned. */
async function enter(ground: RescueGround, patient: Patient): Promise<Outcome> {
  const seconds = secondsSince(ground, 'rescueResetAt') ?? 0;
  let why: string;
  try {
    const outcome = await inRescue(ground, patient.address, async (rescue) => {
      const identity = await rescue.identify();
      const doubt = whyNotRescue(identity, { mostUptimeSeconds: seconds + 30 }) ?? whyAnother(patient, identity.mac);
      if (doubt !== undefined) return doubt;
      const { bootId, mac, gateway, firmware } = identity;
      return { rescueHostKey: rescue.hostKey, rescueBootId: bootId, mac, gateway, firmware } satisfies Facts;
    });
    if (typeof outcome !== 'string') return done(outcome);
    why = outcome;
  } catch (error) {
    if (!isSilent(error)) throw error;
    why = (error as Error).message;
  }
  const patience = ground.facts['rescueResets'] === 0 ? restartSeconds : resetSeconds;
  if (seconds < patience) return wait(10, `The rescue system is starting. ${why}`);
  return await remind(ground, patient, seconds, why);
}

const whyAnother = ({ macs, address }: Patient, mac: string): string | undefined =>
  macs.length === 0 || macs.includes(mac)
    ? undefined
    : `The server at ${address} has a network card ${mac}, which its Host does not know.`;

/** Rescue takes too long. Still armed: the reset, or the restart, had no effect. Used up: it hangs, or is somebody else's. */
async function remind(ground: RescueGround, patient: Patient, seconds: number, why: string): Promise<Outcome> {
  const robot = robotOf(ground, patient.servers);
  const { serverNumber } = patient.host.spec;
  if (seconds < bootSeconds) {
    const { active } = await robot.getRescue(serverNumber, { signal: ground.signal });
    if (!active) return wait(45, `The rescue system was loaded and does not answer yet. ${why}`);
  }
  const resets = Number(ground.facts['rescueResets'] ?? 1);
  if (resets >= mostResets) {
    return fail(
      'RescueSilent',
      `Server ${serverNumber} does not come up in its rescue system after ${resets} resets. Its firmware has to try the network first. ${why}`,
    );
  }
  const refused =
    (await ensureArmed(ground, robot, patient.host)) ?? (await resetServer(ground, robot, patient, resets));
  if (refused) return refused;
  const facts = { rescueResetAt: ground.clock.now().toISOString(), rescueResets: resets + 1 };
  return wait(30, `The rescue system did not come up; the server was reset once more. ${why}`, facts);
}
