import { z } from 'zod';
import { done, type Step } from '../../../engine/platform.ts';
import { findVm, systemOf } from '../system.ts';
import type { MendingContext } from './context.ts';

/**
 * Before: an update to TrueNAS 26 may have set our VM to stand still for each snapshot, etcd and all. After: it does not. Done when it
 * is found so. It counts at once, whether the machine runs or not.
 */
export const settingsRestored: Step<MendingContext> = {
  name: 'settings-restored',
  async run(context) {
    const system = systemOf(context);
    const { own: vm } = await findVm(system);
    if (!vm?.suspend_on_snapshot || !context.reasons.includes('PausesForSnapshots')) return done();
    const change = { suspend_on_snapshot: false };
    await system.nas.change('vm.update', [vm.id, change], z.unknown(), { signal: context.signal, seconds: 60 });
    return done();
  },
};
