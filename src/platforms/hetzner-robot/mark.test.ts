import { expect, it } from 'vitest';
import { markOf, ownershipByName } from './mark.ts';

const owner = { installation: '3f0c', provider: 'talos', machine: 'shop-cp-0' };

it('H20: is a readable name, unique for each machine', () => {
  expect(markOf(owner)).toMatch(/^cpt\.[a-z0-9]{8}\.shop-cp-0$/);
  const marks = [
    owner,
    { ...owner, machine: 'shop-cp-1' },
    { ...owner, provider: 'other' },
    { ...owner, installation: '' },
  ];
  expect(new Set(marks.map(markOf)).size).toBe(4);
});

it.each([
  ['our own', markOf(owner), 'ours'],
  ['us, to another machine', markOf({ ...owner, machine: 'shop-cp-1' }), 'stale'],
  ['another installation', markOf({ ...owner, installation: '77' }), 'others'],
  ['Cluster API for Hetzner', 'bm-worker-7', 'others'],
  ['people', 'files', 'nobody'],
  ['nobody', '', 'nobody'],
])('a name given by %s', (_, name, whose) => {
  expect(ownershipByName(name, owner, undefined)).toBe(whose);
});

it('a name that its Host expects is no mark, whatever its form', () => {
  expect(ownershipByName('bm-worker-7', owner, 'bm-worker-7')).toBe('nobody');
});
