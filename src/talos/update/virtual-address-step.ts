import { done, type Step, type StepOutcome, wait } from '../../engine/step.ts';
import { readFact, type UpdateStepContext, updateFacts } from './update-context.ts';

export const addressPollSeconds = 1;
/** An election takes much less time. A longer wait only extends the interruption, if nobody takes the address. */
const mostSeconds = 15;

/** Whether nobody has taken the address in time since then (an ISO date). */
export const isAddressMoveLate = (since: string, now: Date): boolean =>
  now.getTime() - Date.parse(since) >= mostSeconds * 1000;

/**
 * Done when another control plane holds the virtual address, so that clients notice nothing of a restart of this API
 * server. Talos leaves the address where it is, whether the API server behind it answers or not.
 */
export const virtualAddressStep: Step<UpdateStepContext> = {
  name: 'virtual-address-moved',
  deadlineMinutes: 10,
  isNeeded: (facts) => facts[updateFacts.restartsApi] === true,
  run: async (context): Promise<StepOutcome> => {
    const { facts, clock, log } = context;
    const since = readFact(facts, updateFacts.addressSince);
    if (since === '')
      return wait(0, 'The virtual address moves.', { [updateFacts.addressSince]: clock.now().toISOString() });
    const result = await context.moveVirtualAddress();
    if (result.kind === 'moved') return done({ [updateFacts.addressSince]: '' });
    if (!isAddressMoveLate(since, clock.now())) return wait(addressPollSeconds, result.message);
    log.warn({ address: result.message }, 'the virtual address is unavailable while its holder restarts');
    return done({ [updateFacts.addressSince]: '' });
  },
};
