import { done, type Step, type StepOutcome, wait } from '../../engine/step.ts';
import { readFact, type UpdateStepContext, updateFacts } from './update-context.ts';

const pollSeconds = 1;
/** An election takes much less time. A longer wait only extends the interruption, if nobody takes the address. */
const mostSeconds = 15;

/**
 * Done when another control plane holds the virtual address, so that clients notice nothing of a restart of this API
 * server. Talos leaves the address where it is, whether the API server behind it answers or not.
 */
export const virtualAddressStep: Step<UpdateStepContext> = {
  name: 'virtual-address-moved',
  deadlineMinutes: 10,
  isNeeded: (facts) => facts[updateFacts.restartsApi] !== false,
  run: async (context): Promise<StepOutcome> => {
    const { facts, clock, log } = context;
    if (facts[updateFacts.restartsApi] !== true) return done();
    const since = readFact(facts, updateFacts.addressSince);
    if (since === '')
      return wait(0, 'The virtual address moves.', { [updateFacts.addressSince]: clock.now().toISOString() });
    const result = await context.moveVirtualAddress();
    if (result.kind === 'moved') return done({ [updateFacts.addressSince]: '' });
    if (clock.now().getTime() - Date.parse(since) < mostSeconds * 1000) return wait(pollSeconds, result.message);
    log.warn({ address: result.message }, 'the virtual address is unavailable while its holder restarts');
    return done({ [updateFacts.addressSince]: '' });
  },
};
