import { describe, expect, it } from 'vitest';
import { aCondition, aMachine } from '../../../test/support/fixtures/builders.ts';
import type { Machine } from '../../api/machine.ts';
import type { NodeService } from '../../talos/client/node-calls.ts';
import { type ControlPlaneEtcd, decideBootstrap, type EtcdState } from './decide-bootstrap.ts';

const [first, second, third] = [0, 1, 2].map((slot) => aMachine(slot, [aCondition('Provisioned')])) as [
  Machine,
  Machine,
  Machine,
];
const nameOf = ({ metadata }: Machine) => metadata.name;

const service = (state: string, changedAt = '100.5'): NodeService => ({
  ...{ id: 'etcd', state, healthy: undefined, message: 'Running pre state', changedAt },
});
const preparing = (boot = 'boot-a', changedAt = '100.5'): EtcdState => ({
  service: service('Preparing', changedAt),
  boot,
});
const unresponsive: EtcdState = { unanswered: 'No answer.' };
const running = (members: number): EtcdState => ({ service: service('Running'), members });

const nothing = { bootstrapMachine: undefined, bootstrapRequest: undefined };
const called = { bootstrapMachine: nameOf(first), bootstrapRequest: 'boot-a 100.5' };
const controlPlanes = (...states: (EtcdState | undefined)[]): ControlPlaneEtcd[] =>
  states.map((etcd, index) => ({ machine: [first, second, third][index] ?? first, etcd }));

describe('the bootstrap of etcd', () => {
  it('is called on the chosen machine if all wait for it, with the recorded request', () => {
    expect(decideBootstrap(controlPlanes(preparing(), preparing('b'), preparing('c')), first, nothing)).toEqual({
      kind: 'call',
      machine: first,
      request: 'boot-a 100.5',
    });
  });

  it('was done if any control plane has a member, whatever the others report', () => {
    const found = decideBootstrap(controlPlanes(preparing(), unresponsive, running(2)), first, called);
    expect(found).toEqual({ kind: 'bootstrapped', machine: nameOf(first) });
    expect(decideBootstrap(controlPlanes(preparing(), unresponsive, running(2)), undefined, nothing)).toEqual({
      kind: 'bootstrapped',
      machine: nameOf(third),
    });
  });

  it.each<[string, EtcdState | undefined, RegExp]>([
    ['does not answer', unresponsive, /cp-1 does not answer, and may be a member of etcd: No answer\./],
    ['runs an etcd without a list of members', running(0), /cp-1: its service etcd is in state Running/],
    ['has an etcd that failed', { service: service('Failed') }, /cp-1: its service etcd is in state Failed/],
    ['boots, and may have earlier data', { service: undefined }, /cp-1: its service etcd does not exist yet/],
  ])('waits for another control plane that %s', (_, state, text) => {
    const decision = decideBootstrap(controlPlanes(preparing(), state), first, nothing);
    expect(decision).toMatchObject({ kind: 'wait', message: expect.stringMatching(text) });
  });

  it('does not wait for a control plane that cannot have been a member', () => {
    const machine = { ...second, status: { ...second.status!, conditions: [aCondition('Provisioned', 'False')] } };
    for (const etcd of [unresponsive, { service: undefined }, { service: service('Waiting') }, undefined]) {
      const all = [
        { machine: first, etcd: preparing() },
        { machine, etcd },
      ];
      expect(decideBootstrap(all, first, nothing).kind).toBe('call');
    }
  });

  it('waits for the chosen machine while that cannot be called', () => {
    const gone = decideBootstrap(controlPlanes(preparing(), preparing()), undefined, {
      ...called,
      bootstrapMachine: 'nine',
    });
    expect(gone).toMatchObject({
      kind: 'wait',
      message: expect.stringMatching(/^etcd is bootstrapped on nine, which/),
    });
  });

  it.each<[string, EtcdState, RegExp]>([
    ['is silent', unresponsive, /cp-0 does not answer: No answer\./],
    ['boots', { service: service('Waiting') }, /cp-0: its service etcd is in state Waiting: Running pre state\./],
    ['starts etcd', { service: service('Starting') }, /etcd was started, and its service etcd is in state Starting/],
    ['runs etcd without a list of members', running(0), /etcd was started.*state Running/],
  ])('is not called while the machine %s', (_, state, text) => {
    const decision = decideBootstrap(controlPlanes(state), first, called);
    expect(decision).toMatchObject({ kind: 'wait', message: expect.stringMatching(text) });
  });
});

describe('a second bootstrap call, which stops a starting etcd', () => {
  it('is not made while the service prepares the first one', () => {
    const decision = decideBootstrap(controlPlanes(preparing('boot-a', '107.1')), first, called);
    expect(decision).toMatchObject({ kind: 'wait', message: expect.stringMatching(/etcd was bootstrapped/) });
  });

  it.each<[string, EtcdState, Partial<typeof called>]>([
    ['the service has not changed since: the first call did not arrive', preparing(), {}],
    ['the machine has rebooted and prepares for a bootstrap again', preparing('boot-b', '200.0'), {}],
    ['the node rejected the first call', preparing('boot-a', '107.1'), { bootstrapRequest: 'refused' }],
    [
      'a version without this record chose the machine',
      preparing('boot-a', '107.1'),
      { bootstrapRequest: undefined as never },
    ],
  ])('is made when %s', (_, state, notes) => {
    expect(decideBootstrap(controlPlanes(state), first, { ...called, ...notes }).kind).toBe('call');
  });
});
