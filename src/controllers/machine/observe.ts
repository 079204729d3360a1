import type { Drift } from '../../engine/observation.ts';
import { describeReservation } from '../../engine/reservation.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { TalosStepContext } from '../../talos/steps.ts';
import type { Workplace } from './context.ts';

/** How a finished machine was found. */
export interface Observed {
  /** It does not exist on its platform any more. */
  readonly gone?: true;
  /** It could not be looked at: what is said is why. */
  readonly unseen?: true;
  /** What matters most first. */
  readonly drift: readonly Drift[];
  readonly notJoined?: string;
  /** All is well, and whatever changes about it is told from now on: this is what its platform judged it by. */
  readonly restsBy?: string;
}

/**
 * Looks at a finished machine, at its platform and in its cluster. Changes nothing. `isReady`: whether the API server of the cluster
 * says that the node is ready, as it has to be for Talos; only where it does not, the node is asked itself.
 */
export async function observeMachine(
  workplace: Workplace,
  context: TalosStepContext,
  isReady: () => Promise<boolean>,
): Promise<Observed> {
  const { exists, runs, drift, trace } = await workplace.platform.observe(context);
  if (!exists) return { gone: true, drift, notJoined: 'It is gone.' };
  if (runs === false) return { drift, notJoined: 'The machine is powered off.' };
  if (await isReady()) return { drift, ...(trace !== undefined && drift.length === 0 ? { restsBy: trace } : {}) };
  const notJoined = await whyNotJoined(context);
  return { drift, ...(notJoined ? { notJoined } : {}) };
}

/** Of a machine that could not be looked at, nothing is known but why. */
export const notSeen = (error: ProviderError): Observed => {
  const reason = error.retry === 'after-change' ? 'PlatformRefused' : 'PlatformUnreachable';
  return { unseen: true, drift: [{ reason, message: error.message }] };
};

async function whyNotJoined(context: TalosStepContext): Promise<string | undefined> {
  const talos = context.openTalos(String(context.facts['address']));
  try {
    const { stage, ready, unmetConditions } = await talos.machineStatus();
    if (stage === 'running' && ready) return undefined;
    const unmet = unmetConditions.map(({ name, reason }) => `${name}: ${reason}`).join('; ');
    return `The node is in stage ${stage}${unmet ? ` (${unmet})` : ''}.`;
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    const reservation = error.code === 'TALOS_UNREACHABLE' ? describeReservation(context.facts) : undefined;
    return reservation === undefined ? error.message : `${error.message} ${reservation}`;
  } finally {
    await talos.close();
  }
}
