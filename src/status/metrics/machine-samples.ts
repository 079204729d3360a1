import type { Machine } from '../../api/machine.ts';
import type { FleetSamples } from '../../server/fleet-metrics.ts';
import { isStuckMachine } from '../views/cluster-health.ts';
import { ageInSeconds } from './cluster-samples.ts';
import { Tally } from './tally.ts';

const phases: ReadonlySet<string> = new Set(['Provisioning', 'Ready', 'Degraded', 'Releasing', 'Failed']);

/** As steps are named. */
const stepName = /^[a-z0-9-]{1,64}$/;

/** The Machines by role and phase, those that do not go on by themselves, and the longest stay in each step. */
export function listMachineSamples(
  machines: readonly Machine[],
  now: Date,
): Pick<FleetSamples, 'machines' | 'machines_stuck' | 'step_longest_seconds'> {
  const byPhase = new Tally<'provider_config' | 'role' | 'phase'>();
  const stuck = new Tally<'provider_config'>();
  const steps = new Tally<'platform' | 'plan' | 'step'>();
  for (const machine of machines) {
    const { spec, status } = machine;
    const { phase = '', progress } = status ?? {};
    const provider_config = spec.providerConfigRef.name;
    byPhase.add({ provider_config, role: spec.role, phase: phases.has(phase) ? phase : 'Pending' });
    stuck.add({ provider_config }, isStuckMachine(machine) ? 1 : 0);
    if (!progress || progress.finishedAt || !stepName.test(progress.step)) continue;
    const { plan, step, since } = progress;
    steps.raise({ platform: spec.platform, plan, step }, ageInSeconds(since, now));
  }
  return { machines: byPhase.samples, machines_stuck: stuck.samples, step_longest_seconds: steps.samples };
}
