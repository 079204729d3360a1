import { describe, expect, it } from 'vitest';
import { aMachine } from '../../../../../test/support/fixtures/builders.ts';
import type { Machine, MachineStatus } from '../../../../api/machine.ts';
import { findSkewProblem, findUnseenMachine } from './find-skew-problem.ts';

const hop = { from: '1.34.1', to: '1.35.4', target: '1.35.4' };
const running = (applied: MachineStatus['applied'], pool = 'cp'): Machine => {
  const machine = aMachine(0, [], pool);
  return { ...machine, status: { observedGeneration: 1, phase: '', conditions: [], ...(applied && { applied }) } };
};
const same = { apiServer: '1.34.1', controllerManager: '1.34.1', scheduler: '1.34.1' };

describe('D13: the versions that run', () => {
  it.each<[string, Machine, RegExp | undefined]>([
    ['all of the former version', running({ kubernetesVersion: '1.34.1', components: same }), undefined],
    ['a kubelet three minors older', running({ kubernetesVersion: '1.32.0', components: same }), undefined],
    [
      'a kubelet four minors older',
      running({ kubernetesVersion: '1.31.9' }, 'web'),
      /kubelet of .*-web-0 runs 1\.31\.9, more than 3 minors/,
    ],
    ['a newer kubelet', running({ kubernetesVersion: '1.36.0' }, 'web'), /1\.36\.0, which is newer/],
    [
      'a scheduler two minors older',
      running({ kubernetesVersion: '1.34.1', components: { ...same, scheduler: '1.33.0' } }),
      /the scheduler of .* runs 1\.33\.0, more than one minor before it/,
    ],
    ['an API server two minors older', running({ components: { ...same, apiServer: '1.33.0' } }), /API server/],
  ])('%s', (_, machine, problem) => {
    const found = findSkewProblem(hop, [machine]);
    if (problem) expect(found).toMatch(problem);
    else expect(found).toBeUndefined();
  });

  it('have to be known', () => {
    const [seen, unseen] = [running({ kubernetesVersion: '1.34.1' }, 'web'), running({ kubernetesVersion: '1.34.1' })];
    expect(findUnseenMachine([seen])).toBeUndefined();
    expect(findUnseenMachine([seen, unseen])).toBe(unseen);
  });
});
