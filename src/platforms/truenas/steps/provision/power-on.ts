import { z } from 'zod';
import { done, type Step } from '../../../../engine/step.ts';
import { TrueNasError } from '../../error-codes.ts';
import { getKnownVm, machineScopeOf, type TrueNasStepContext } from '../../resources/machine-scope.ts';
import { memoryTableOf, waitForMemory } from './reserve-resources.ts';

/** Before: the VM is complete. After: it runs, with reserved memory. Done when it is found running. */
export const poweredOn: Step<TrueNasStepContext> = {
  name: 'powered-on',
  async run(context) {
    const system = machineScopeOf(context);
    const { nas } = system;
    const vm = await getKnownVm(system);
    const options = { signal: context.signal, seconds: 120 };
    switch (vm.status.state) {
      case 'RUNNING':
        memoryTableOf(context).commit(system.identity.uuid);
        return done({ started: true });
      case 'SUSPENDED':
        await nas.change('vm.resume', [vm.id], z.unknown(), options);
        return done({ started: true });
      case 'STOPPED': {
        const short = await waitForMemory(context, vm.memory);
        if (short) return short;
        await nas.change('vm.start', [vm.id, { overcommit: false }], z.unknown(), options);
        memoryTableOf(context).commit(system.identity.uuid);
        return done({ started: true });
      }
      default:
        throw new TrueNasError(
          'TRUENAS_VM_BROKEN',
          `${vm.name} is in state ${vm.status.state}: see the libvirt log on ${nas.host}.`,
        );
    }
  },
};
