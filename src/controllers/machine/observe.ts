import { ProviderError } from '../../lib/errors.ts';
import type { TalosStepContext } from '../../talos/steps.ts';
import type { Workplace } from './context.ts';

/** What differs from a machine that runs as it was made; undefined where nothing does. */
export interface Observed {
  readonly missing?: string;
  readonly drift?: string;
  readonly notJoined?: string;
}

const off = 'The machine is powered off.';

/** Looks at a finished machine, at its platform and over the Talos API. Changes nothing. */
export async function observeMachine(workplace: Workplace, context: TalosStepContext): Promise<Observed> {
  const { exists, powered, drift } = await workplace.platform.observe(context);
  if (!exists)
    return {
      missing: 'The machine does not exist on its platform any more.',
      drift: 'It is gone.',
      notJoined: 'It is gone.',
    };
  if (powered === 'off') return { drift: drift ? `${off} ${drift}` : off, notJoined: off };
  const notJoined = await whyNotJoined(context);
  return { ...(drift ? { drift } : {}), ...(notJoined ? { notJoined } : {}) };
}

async function whyNotJoined(context: TalosStepContext): Promise<string | undefined> {
  const talos = context.openTalos(String(context.facts['address']));
  try {
    const { stage, ready, unmetConditions } = await talos.machineStatus();
    if (stage === 'running' && ready) return undefined;
    const unmet = unmetConditions.map(({ name, reason }) => `${name}: ${reason}`).join('; ');
    return `The node is in stage ${stage}${unmet ? ` (${unmet})` : ''}.`;
  } catch (error) {
    if (error instanceof ProviderError) return error.message;
    throw error;
  } finally {
    await talos.close();
  }
}
