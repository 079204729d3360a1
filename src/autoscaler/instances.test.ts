import { describe, expect, it } from 'vitest';
import { aCondition } from '../../test/support/fixtures/builders.ts';
import { aWorker } from '../../test/support/fixtures/scalable-pools.ts';
import type { Machine } from '../api/machine.ts';
import { hetznerRobot } from '../platforms/hetzner-robot/index.ts';
import { truenas } from '../platforms/truenas/index.ts';
import { describeInstance, instanceIdOf } from './instances.ts';

const waiting = (reason: string, phase = 'Provisioning', facts = {}): Machine => {
  const machine = aWorker(0, facts);
  const condition = { ...aCondition('Provisioned', 'False'), reason, message: 'It waits.' };
  return { ...machine, status: { ...machine.status!, phase, conditions: [condition] } };
};

describe('the id of an instance', () => {
  it('D57: is the provider id of its Node, on each platform', () => {
    expect(instanceIdOf(truenas, aWorker(1))).toBe('truenas://nas/1');
    expect(instanceIdOf(hetznerRobot, aWorker(1, { server: 3140017 }))).toBe('hetzner-robot://3140017');
    expect(instanceIdOf(hetznerRobot, aWorker(1))).toBeUndefined();
  });
  it('is the name of the Machine while its platform knows none', () => {
    const { id } = describeInstance(hetznerRobot, aWorker(1), false);
    expect(id).toMatch(/^machine:\/\/prod-\w+-work-1$/);
  });
});

describe('the state of an instance', () => {
  it.each([
    ['creating', aWorker(0), false],
    ['running', aWorker(0, { joined: true }), false],
    ['running, even if its Node is not ready now', waiting('InsufficientMemory', 'Degraded', { joined: true }), false],
    ['deleting', aWorker(0, { joined: true }), true],
  ] as const)('%s', (state, machine, isLeaving) => {
    const found = describeInstance(truenas, machine, isLeaving);
    expect(found.state).toBe(state.replace(/,.*/, ''));
    expect(found.error).toBeUndefined();
  });

  it.each([
    ['memory', truenas, 'InsufficientMemory', 'out-of-resources'],
    ['disk space', truenas, 'InsufficientDiskSpace', 'out-of-resources'],
    ['addresses', truenas, 'ADDRESS_POOL_EMPTY', 'out-of-resources'],
    ['Hosts', hetznerRobot, 'HostShort', 'out-of-resources'],
    ['nothing that another platform lacks', truenas, 'HostShort', undefined],
    ['nothing that ends by itself', truenas, 'StepWaiting', undefined],
  ] as const)('D59: names a lack of %s', (_, platform, reason, expected) => {
    const { error } = describeInstance(platform, waiting(reason), false);
    expect(error).toEqual(expected && { code: reason, message: 'It waits.', class: expected });
  });

  it('names another error that only a user can correct', () => {
    expect(describeInstance(hetznerRobot, waiting('ServerUnfit', 'Failed'), false).error?.class).toBe('other');
  });
});
