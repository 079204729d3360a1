import { describe, expect, it } from 'vitest';
import type { Host, HostStatus } from '../../api/host.ts';
import { annotations, group, version } from '../../api/names.ts';
import {
  chooseHeldHost,
  choosePrimaryHost,
  stateWithoutHolder,
  toHostView,
  unavailableReasonOf,
} from './availability.ts';

const aHost = (name: string, status: Partial<HostStatus> = {}, metadata: Partial<Host['metadata']> = {}): Host => ({
  ...{ apiVersion: `${group}/${version}`, kind: 'Host', metadata: { name, ...metadata } },
  spec: { serverNumber: 1, expect: { product: 'AX42' } } as Host['spec'],
  status: { observedGeneration: 1, state: 'Available', conditions: [], ...status },
});
const held = (name: string, state: HostStatus['state'], second: number): Host =>
  aHost(name, { state, machineRef: { name: 'm', uid: 'u', since: `2026-11-21T09:00:0${second}.000Z` } });
const error = { annotations: { [annotations.permanentError]: 'Look.' } };

describe('the state of a Host that nobody holds', () => {
  const rest = (spec: object, metadata: object = {}): Host => {
    const host = aHost('a', {}, metadata);
    return { ...host, spec: { ...host.spec, ...spec } };
  };
  it.each([
    ['the right server is available', rest({}), 'True', 'Available'],
    ['the wrong one has failed', rest({}), 'False', 'Failed'],
    ['one that nobody could look at is pending', rest({}), 'Unknown', 'Pending'],
    ['maintenance goes before that', rest({ maintenance: true }), 'Unknown', 'Maintenance'],
    ['an error that only a person can clear goes before all', rest({ maintenance: true }, error), 'True', 'Failed'],
  ] as const)('%s', (_, host, identified, state) => {
    expect(stateWithoutHolder(host, identified)).toBe(state);
  });
});

it('a Host is seen with its defaults, also one from before they were there', () => {
  expect(toHostView(aHost('a'))?.spec).toMatchObject({
    wipe: false,
    roles: ['controlplane', 'worker'],
    rootDisk: { raidMembers: [] },
  });
});

it('one whose spec is not valid is seen by no platform', () => {
  const host = aHost('a');
  expect(toHostView({ ...host, spec: { ...host.spec, serverNumber: 0 } })).toBeUndefined();
});

it('is free only when nothing at all stands against it', () => {
  expect(unavailableReasonOf(aHost('a'))).toBeUndefined();
  expect(unavailableReasonOf(aHost('a', {}, error))).toBe('failed');
  expect(unavailableReasonOf({ ...aHost('a'), status: undefined } as never)).toBe('not looked at yet');
});

it('of two Hosts for one server that counts which is held, and else the older', () => {
  const [older, younger] = [
    aHost('z', {}, { creationTimestamp: '2026-11-21T09:00:00Z' }),
    aHost('a', {}, { creationTimestamp: '2026-11-21T09:00:01Z' }),
  ];
  expect(choosePrimaryHost([younger, older])).toBe(older);
  const taken = held('b', 'Claimed', 0);
  expect(choosePrimaryHost([younger, taken, older])).toBe(taken);
});

it('of two Hosts that one Machine claimed it goes on with the one that is written to, and else with the later', () => {
  const [early, late] = [held('a', 'Claimed', 1), held('b', 'Claimed', 2)];
  expect(chooseHeldHost([early, late])).toBe(late);
  const written = held('c', 'Provisioned', 0);
  expect(chooseHeldHost([early, written, late])).toBe(written);
  expect(chooseHeldHost([])).toBeUndefined();
});
