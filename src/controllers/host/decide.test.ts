import { describe, expect, it } from 'vitest';
import { aMachine } from '../../../test/support/fixtures/builders.ts';
import type { Condition } from '../../api/conditions.ts';
import type { Host, HostStatus } from '../../api/host.ts';
import { annotations, group, version } from '../../api/names.ts';
import { decideHost, type HostDecision } from './decide.ts';
import type { HostSnapshot } from './view.ts';

const server = { address: '203.0.113.1', ipv6Net: '', product: 'AX42', location: 'FSN1', resetTypes: [] };
const identity = { server };
const machine = aMachine();
const made = {
  ...machine,
  status: { ...machine.status, progress: { plan: 'provision', finishedAt: 'then' } },
} as never;
const told: Condition = {
  type: 'Usable',
  status: 'False',
  reason: 'MachineGone',
  message: '',
  lastTransitionTime: 'then',
};
const task = { plan: 'inspect', step: 'x', since: 'then', failures: 0, facts: {} } as const;

interface Words {
  readonly notes?: readonly (keyof typeof annotations)[];
  readonly deleted?: boolean;
  readonly status?: Partial<HostStatus>;
  readonly sight?: Partial<HostSnapshot>;
}

function aSight({ notes = [], deleted = false, status = {}, sight = {} }: Words): HostSnapshot {
  const host: Host = {
    ...{ apiVersion: `${group}/${version}`, kind: 'Host' },
    metadata: {
      name: 'a',
      annotations: Object.fromEntries(notes.map((name) => [annotations[name], 'why'])),
      ...(deleted && { deletionTimestamp: 'then' }),
    },
    spec: { serverNumber: 1, expect: { product: 'AX42' } } as Host['spec'],
    status: { observedGeneration: 1, state: 'Available', conditions: [], ...status },
  };
  return {
    host,
    holder: { kind: 'none' },
    keeper: {} as never,
    rival: undefined,
    isSurplus: false,
    identity,
    ...sight,
  };
}

const gone = { kind: 'gone', name: 'm' } as const;
const serves = { kind: 'machine', machine: made } as const;
const isMade = { kind: 'machine', machine } as const;

describe('what is done next for a Host', () => {
  it.each<[string, Words, HostDecision['kind'], object?]>([
    ['a free one at rest is left alone', {}, 'settled'],
    ['one that nobody asked for yet is asked for', { sight: { identity: undefined as never } }, 'identify'],
    [
      'nobody asks for one that no ProviderConfig uses',
      { sight: { keeper: undefined, identity: undefined as never } },
      'settled',
    ],
    ['a free one that is deleted goes', { deleted: true }, 'let-go'],
    ['one that is held stays when it is deleted', { deleted: true, sight: { holder: serves } }, 'settled'],
    ['who deletes one of a lost Machine has decided', { deleted: true, sight: { holder: gone } }, 'let-go'],
    [
      'one that was only claimed by a lost Machine is free',
      { status: { state: 'Claimed' }, sight: { holder: gone } },
      'free',
    ],
    ['one that was written to is marked', { status: { state: 'Provisioned' }, sight: { holder: gone } }, 'mark'],
    [
      'and waits for a person',
      { status: { state: 'Failed', conditions: [told] }, notes: ['permanentError'], sight: { holder: gone } },
      'settled',
    ],
    ['who takes the mark off', { status: { state: 'Failed', conditions: [told] }, sight: { holder: gone } }, 'free'],
    [
      'one that failed before its Machine was lost is marked as well',
      { status: { state: 'Failed' }, sight: { holder: gone } },
      'mark',
    ],
    [
      'a second one of its Machine is free',
      { status: { state: 'Claimed' }, sight: { holder: serves, isSurplus: true } },
      'free',
    ],
    ['an inspection begins when it is asked for', { notes: ['inspect'] }, 'walk', { plan: 'inspect' }],
    ['and goes on without being asked for again', { status: { task } }, 'walk', { plan: 'inspect' }],
    [
      'but not while nobody can be asked',
      { status: { task }, sight: { identity: { unasked: 'No.', reason: 'PlatformUnreachable' } } },
      'settled',
    ],
    [
      'P43: none begins on a server that is held',
      { notes: ['inspect'], sight: { holder: serves } },
      'refuse',
      { reason: 'InUse' },
    ],
    [
      'none begins on one that only a person may free',
      { notes: ['inspect', 'permanentError'] },
      'refuse',
      { reason: 'PermanentError' },
    ],
    [
      'none begins on the wrong server',
      { notes: ['inspect'], sight: { identity: { refused: 'Wrong.' } } },
      'refuse',
      { reason: 'NotIdentified' },
    ],
    [
      'none begins on the server of another Host',
      { notes: ['inspect'], sight: { rival: 'b' } },
      'refuse',
      { reason: 'SameServer' },
    ],
    [
      'a reboot of one that serves begins',
      { notes: ['reboot'], sight: { holder: serves } },
      'walk',
      { plan: 'reboot' },
    ],
    ['P43: a reboot waits while its Machine is made', { notes: ['reboot'], sight: { holder: isMade } }, 'settled'],
    [
      'a reboot is refused while it is cleared',
      { notes: ['reboot'], status: { state: 'Deprovisioning' }, sight: { holder: serves } },
      'refuse',
      { reason: 'Releasing' },
    ],
    [
      'a reboot need not wait for an inspection that is refused',
      { notes: ['inspect', 'reboot'], sight: { holder: serves } },
      'refuse',
      { plan: 'inspect' },
    ],
    ['what was walked is not walked again at once', { notes: ['reboot'], sight: { verdict: {} as never } }, 'settled'],
  ])('%s', (_, words, kind, more = {}) => {
    expect(decideHost(aSight(words))).toMatchObject({ kind, ...more });
  });
});
