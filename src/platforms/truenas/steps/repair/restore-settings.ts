import { z } from 'zod';
import { done, type Step } from '../../../../engine/step.ts';
import { withMetadata } from '../../resources/identity.ts';
import { findVm, machineScopeOf } from '../../resources/machine-scope.ts';
import { coveredReasons, type TrueNasRepairContext } from './repair-context.ts';

/**
 * Before: an update to TrueNAS 26 may have set our VM to pause, etcd included, during each snapshot. After: it does
 * not, and the description has the metadata of the Cluster. Done when both are confirmed. Both take effect at once,
 * whether the machine runs or not.
 */
export const settingsRestored: Step<TrueNasRepairContext> = {
  name: 'settings-restored',
  async run(context) {
    const system = machineScopeOf(context);
    const { own: vm } = await findVm(system);
    if (!vm) return done();
    const due = coveredReasons(context, vm, system);
    const change = {
      ...(due.includes('PausesForSnapshots') ? { suspend_on_snapshot: false } : {}),
      ...(due.includes('MetadataDiffers') ? { description: withMetadata(vm.description ?? '', context.node) } : {}),
    };
    if (Object.keys(change).length === 0) return done();
    await system.nas.change('vm.update', [vm.id, change], z.unknown(), { signal: context.signal, seconds: 60 });
    return done();
  },
};
