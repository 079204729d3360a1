import { describe, expect, it } from 'vitest';
import { aMachine } from '../../../test/support/fixtures/builders.ts';
import type { Condition } from '../../api/conditions.ts';
import type { Host, HostStatus } from '../../api/host.ts';
import { annotations, group, version } from '../../api/names.ts';
import { decideHost, type HostDecision } from './decide.ts';
import type { HostSnapshot } from './view.ts';

const server = { address: '203.0.113.1', ipv6Net: '', product: 'AX42', location: 'FSN1' };
const identity = { server };
const machine = aMachine();
const made = {
  ...machine,
  status: { ...machine.status, progress: { plan: 'provision', finishedAt: 'then' } },
} as never;
const reported: Condition = {
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

function aSight({ notes = [], deleted = false, status = {}, sight: snapshot = {} }: Words): HostSnapshot {
  const host: Host = {
    ...{ apiVersion: `${group}/${version}`, kind: 'Host' },
    metadata: {
      name: 'a',
      annotations: Object.fromEntries(notes.map((name) => [annotations[name], 'why'])),
      ...(deleted && { deletionTimestamp: 'then' }),
    },
    spec: { serverID: '1', hetznerRobot: {}, expect: { product: 'AX42' } } as unknown as Host['spec'],
    status: { observedGeneration: 1, state: 'Available', conditions: [], ...status },
  };
  return {
    host,
    holder: { kind: 'none' },
    providerConfig: {} as never,
    duplicate: undefined,
    isSurplus: false,
    identity,
    ...snapshot,
  };
}

const gone = { kind: 'gone', name: 'm' } as const;
const serves = { kind: 'machine', machine: made } as const;
const isMade = { kind: 'machine', machine } as const;

describe('the next action for a Host', () => {
  it.each<[string, Words, HostDecision['kind'], object?]>([
    ['an idle available one needs nothing', {}, 'settled'],
    ['a new one is identified', { sight: { identity: undefined as never } }, 'identify'],
    [
      'one that no ProviderConfig uses is not identified',
      { sight: { providerConfig: undefined, identity: undefined as never } },
      'settled',
    ],
    ['an available one in deletion is released', { deleted: true }, 'let-go'],
    ['a claimed one stays in deletion', { deleted: true, sight: { holder: serves } }, 'settled'],
    ['a deletion by the user releases one of a lost Machine', { deleted: true, sight: { holder: gone } }, 'let-go'],
    [
      'one that a lost Machine had only claimed becomes available',
      { status: { state: 'Claimed' }, sight: { holder: gone } },
      'free',
    ],
    ['one that was written to is marked', { status: { state: 'Provisioned' }, sight: { holder: gone } }, 'mark'],
    [
      'and waits for the user',
      { status: { state: 'Failed', conditions: [reported] }, notes: ['permanentError'], sight: { holder: gone } },
      'settled',
    ],
    [
      'removal of the mark makes it available',
      { status: { state: 'Failed', conditions: [reported] }, sight: { holder: gone } },
      'free',
    ],
    [
      'one that failed before its Machine was lost is marked as well',
      { status: { state: 'Failed' }, sight: { holder: gone } },
      'mark',
    ],
    [
      'a surplus one of its Machine becomes available',
      { status: { state: 'Claimed' }, sight: { holder: serves, isSurplus: true } },
      'free',
    ],
    ['an inspection begins on request', { notes: ['inspect'] }, 'walk', { plan: 'inspect' }],
    ['and continues without another request', { status: { task } }, 'walk', { plan: 'inspect' }],
    [
      'but not while its provider is unreachable',
      { status: { task }, sight: { identity: { notIdentified: 'No.', reason: 'PlatformUnreachable' } } },
      'settled',
    ],
    [
      'P43: no inspection begins on a claimed server',
      { notes: ['inspect'], sight: { holder: serves } },
      'refuse',
      { reason: 'InUse' },
    ],
    [
      'no inspection begins on one that only the user may release',
      { notes: ['inspect', 'permanentError'] },
      'refuse',
      { reason: 'PermanentError' },
    ],
    [
      'no inspection begins on the wrong server',
      { notes: ['inspect'], sight: { identity: { refused: 'Wrong.' } } },
      'refuse',
      { reason: 'NotIdentified' },
    ],
    [
      'no inspection begins on the server of another Host',
      { notes: ['inspect'], sight: { duplicate: 'b' } },
      'refuse',
      { reason: 'SameServer' },
    ],
    [
      'a reboot of a server in use begins',
      { notes: ['reboot'], sight: { holder: serves } },
      'walk',
      { plan: 'reboot' },
    ],
    [
      'P43: a reboot waits during the provisioning of its Machine',
      { notes: ['reboot'], sight: { holder: isMade } },
      'settled',
    ],
    [
      'a reboot is rejected during deprovisioning',
      { notes: ['reboot'], status: { state: 'Deprovisioning' }, sight: { holder: serves } },
      'refuse',
      { reason: 'Releasing' },
    ],
    [
      'a reboot does not wait for a rejected inspection',
      { notes: ['inspect', 'reboot'], sight: { holder: serves } },
      'refuse',
      { plan: 'inspect' },
    ],
    ['a task runs once in each reconcile', { notes: ['reboot'], sight: { identification: {} as never } }, 'settled'],
  ])('%s', (_, text, kind, more = {}) => {
    expect(decideHost(aSight(text))).toMatchObject({ kind, ...more });
  });
});
