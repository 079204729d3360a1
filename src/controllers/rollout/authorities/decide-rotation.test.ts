import { describe, expect, it } from 'vitest';
import { aCondition, aMachine } from '../../../../test/support/fixtures/builders.ts';
import type { Machine } from '../../../api/machine.ts';
import { SecretString } from '../../../lib/secret-string.ts';
import type { AuthorityRotation, RotationPhase } from '../../../talos/secrets/authority-rotation.ts';
import { decideRotation, type RotationView } from './decide-rotation.ts';

const current = [aCondition('Ready'), aCondition('UpToDate')];

/** A Machine that was found up to date when it was compared with the configuration of the phase. */
function machine(slot: number, compared = 'present', conditions = current): Machine {
  const made = aMachine(slot, conditions);
  return { ...made, status: { observedGeneration: 1, phase: 'Ready', conditions: [...conditions], compared } };
}

const rotating = (phase: RotationPhase = 'accept'): AuthorityRotation => ({
  ...{ authority: 'os', phase, startedAt: '2026-11-21T09:00:00Z' },
  other: { certificate: '', key: new SecretString('') },
});

const decide = (more: Partial<RotationView> = {}) =>
  decideRotation({
    ...{ request: undefined, rotation: undefined, machines: [machine(0), machine(1)], missing: [] },
    ...{ comparison: 'present', isReachable: true, otherChange: undefined, hold: undefined },
    ...more,
  });
const messageOf = (more: Partial<RotationView>) => {
  const decision = decide(more);
  return 'message' in decision ? decision.message : decision.kind;
};

describe('a request for a rotation', () => {
  it('begins when the cluster is up to date', () => {
    expect(decide()).toEqual({ kind: 'none' });
    expect(decide({ request: 'talos' })).toEqual({ kind: 'begin', authority: 'os' });
    expect(decide({ request: 'kubernetes' })).toEqual({ kind: 'begin', authority: 'kubernetes' });
  });

  it('is refused with the known values if it has another one', () => {
    expect(decide({ request: 'etcd' })).toEqual({
      kind: 'refused',
      message:
        'metadata.annotations[rotate-ca]: "etcd" is unknown and has no effect. Use talos or kubernetes, or remove it.',
    });
  });

  it.each<[string, Partial<RotationView>, RegExp]>([
    ['the API server does not answer', { isReachable: false }, /The API server does not answer\.$/],
    ['Kubernetes is upgraded', { otherChange: 'Kubernetes is upgraded.' }, /Kubernetes is upgraded\.$/],
    ['a Machine is missing', { missing: ['cp-2'] }, /cp-2 does not exist yet/],
    ['a node is outdated', { machines: [machine(0), machine(1, 'former')] }, /cp-1 is not up to date/],
    ['there is no node', { machines: [] }, /No machine exists yet/],
  ])('waits while %s', (_, view, expected) => {
    expect(decide({ ...view, request: 'talos' })).toMatchObject({ kind: 'pending', reason: 'RotationPending' });
    expect(messageOf({ ...view, request: 'talos' })).toMatch(expected);
  });

  it('waits for a user who has paused the changes', () => {
    const hold = { reason: 'RolloutPaused', message: 'Paused.' } as const;
    expect(decide({ request: 'talos', hold })).toMatchObject({ kind: 'pending', reason: 'RolloutPaused' });
  });

  it('for the authority that is being rotated is fulfilled, and one for the other waits', () => {
    expect(decide({ request: 'talos', rotation: rotating() })).toEqual({ kind: 'end-request' });
    const machines = [machine(0), machine(1, 'former')];
    expect(messageOf({ request: 'kubernetes', rotation: rotating(), machines })).toMatch(
      /^The Talos CA is rotated, step 1 of 3: .* 1 of 2 machines have the configuration\. .*The rotation of the Kubernetes CA begins after that\.$/,
    );
  });
});

describe('a phase', () => {
  const rotation = rotating('issue');

  it('is verified when every node has it, and then the next one begins', () => {
    expect(decide({ rotation })).toEqual({ kind: 'verify' });
    expect(decide({ rotation, check: { problem: undefined } })).toEqual({ kind: 'advance', rotation });
  });

  it('waits for a node that does not answer as it should', () => {
    expect(messageOf({ rotation, check: { problem: 'cp-1 does not answer.' } })).toMatch(
      /step 2 of 3: .* 2 of 2 machines .*cp-1 does not answer\.$/,
    );
  });

  it.each<[string, Machine]>([
    ['is outdated', machine(1, 'former')],
    ['has not been changed yet', machine(1, 'present', [aCondition('Ready'), aCondition('UpToDate', 'False')])],
    ['is away', machine(1, 'present', [aCondition('Ready', 'False'), aCondition('UpToDate')])],
    ['is being deleted', { ...machine(1), metadata: { ...machine(1).metadata, deletionTimestamp: 'then' } }],
    ['was changed since', { ...machine(1), metadata: { ...machine(1).metadata, generation: 2 } }],
  ])('waits for a Machine that %s', (_, other) => {
    expect(decide({ rotation, machines: [machine(0), other], check: { problem: undefined } }).kind).toBe('roll');
  });

  it('waits for a Machine that does not exist yet: it would be cut off', () => {
    expect(messageOf({ rotation, missing: ['work-3'] })).toMatch(/work-3 does not exist yet\.$/);
  });
});
