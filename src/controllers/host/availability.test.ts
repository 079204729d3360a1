import { describe, expect, it } from 'vitest';
import type { Host, HostStatus } from '../../api/host.ts';
import { annotations, group, version } from '../../api/names.ts';
import {
  chooseHeldHost,
  choosePrimaryHost,
  describeInvalidSpec,
  stateWithoutHolder,
  toHostView,
  toStatusFields,
  unavailableReasonOf,
} from './availability.ts';

const aHost = (name: string, status: Partial<HostStatus> = {}, metadata: Partial<Host['metadata']> = {}): Host => ({
  ...{ apiVersion: `${group}/${version}`, kind: 'Host', metadata: { name, ...metadata } },
  spec: { serverID: '1', hetznerRobot: {}, expect: { product: 'AX42' } } as unknown as Host['spec'],
  status: { observedGeneration: 1, state: 'Available', conditions: [], ...status },
});
const held = (name: string, state: HostStatus['state'], second: number): Host =>
  aHost(name, { state, machineRef: { name: 'm', uid: 'u', since: `2026-11-21T09:00:0${second}.000Z` } });
const error = { annotations: { [annotations.permanentError]: 'Look.' } };

describe('the state of a Host without a holder', () => {
  const rest = (spec: object, metadata: object = {}): Host => {
    const host = aHost('a', {}, metadata);
    return { ...host, spec: { ...host.spec, ...spec } };
  };
  it.each([
    ['is Available for the right server', rest({}), 'True', 'Available'],
    ['is Failed for the wrong server', rest({}), 'False', 'Failed'],
    ['is Pending for a server that could not be identified', rest({}), 'Unknown', 'Pending'],
    ['is Maintenance before all these', rest({ maintenance: true }), 'Unknown', 'Maintenance'],
    [
      'is Failed before all others for an error that only a user can clear',
      rest({ maintenance: true }, error),
      'True',
      'Failed',
    ],
  ] as const)('%s', (_, host, identified, state) => {
    expect(stateWithoutHolder(host, identified)).toBe(state);
  });
});

it('a Host has its defaults, also one from before they existed', () => {
  expect(toHostView(aHost('a'))?.spec).toMatchObject({
    wipe: false,
    roles: ['controlplane', 'worker'],
    rootDisk: { raidMembers: [] },
  });
});

describe('an invalid spec', () => {
  const number = /^The spec is not valid\. spec\.serverID: serverID must be the number that the server has in Robot/;
  const section =
    /^The spec is not valid\. spec: exactly one platform section must be given: hetznerRobot\. Correct it/;
  it.each<[string, object, RegExp]>([
    ['an ID that is none of its platform', { serverID: '0x10' }, number],
    ['an ID with a leading zero', { serverID: '01' }, number],
    ['no platform', { hetznerRobot: undefined }, section],
    ['a field of an earlier version', { serverNumber: 7, serverID: undefined }, /spec\.serverID: .*"serverNumber"/],
    ['a field in the wrong place', { resetTypes: ['hw'] }, /^The spec is not valid\. spec: .*"resetTypes"/],
  ])('with %s is not passed to platforms, and the message names the field', (_, change, message) => {
    const host = aHost('a');
    const invalid = { ...host, spec: { ...host.spec, ...change } };
    expect(toHostView(invalid)).toBeUndefined();
    expect(describeInvalidSpec(invalid)).toMatch(message);
  });
});

it('the section of a platform has its defaults and its part of the status', () => {
  const view = toHostView({ ...aHost('a'), status: { hetznerRobot: { resetTypes: ['hw'] } } as never });
  expect(view?.platformSpec).toEqual({ resetTypes: ['hw', 'power_long', 'power', 'sw'] });
  expect(view?.platformStatus).toEqual({ resetTypes: ['hw'] });
  expect(toStatusFields(aHost('a'), { state: 'Claimed', platformStatus: { resetTypes: [] } })).toEqual({
    state: 'Claimed',
    hetznerRobot: { resetTypes: [] },
  });
});

it('a Host is available only without any reason against it', () => {
  expect(unavailableReasonOf(aHost('a'))).toBeUndefined();
  expect(unavailableReasonOf(aHost('a', {}, error))).toBe('failed');
  expect(unavailableReasonOf({ ...aHost('a'), status: undefined } as never)).toBe('not looked at yet');
});

it('of two Hosts for one server, the claimed one counts, otherwise the older one', () => {
  const [older, younger] = [
    aHost('z', {}, { creationTimestamp: '2026-11-21T09:00:00Z' }),
    aHost('a', {}, { creationTimestamp: '2026-11-21T09:00:01Z' }),
  ];
  expect(choosePrimaryHost([younger, older])).toBe(older);
  const taken = held('b', 'Claimed', 0);
  expect(choosePrimaryHost([younger, taken, older])).toBe(taken);
});

it('of two Hosts claimed by one Machine, the provisioned one counts, otherwise the later one', () => {
  const [early, late] = [held('a', 'Claimed', 1), held('b', 'Claimed', 2)];
  expect(chooseHeldHost([early, late])).toBe(late);
  const written = held('c', 'Provisioned', 0);
  expect(chooseHeldHost([early, written, late])).toBe(written);
  expect(chooseHeldHost([])).toBeUndefined();
});
