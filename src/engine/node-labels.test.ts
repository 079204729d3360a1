import { expect, it } from 'vitest';
import { isKubeletSettableLabel, isLabelValue } from '../talos/config/schema/formats.ts';
import { instanceTypeOfSize, placementLabelsOf, toLabelValue } from './node-labels.ts';

it.each([
  ['AX41-NVMe', 'AX41-NVMe'],
  ['Server Auction #7 (EX62)', 'Server-Auction-7-EX62'],
  [' -_dc. ', 'dc'],
  ['日本', ''],
  ['a'.repeat(80), 'a'.repeat(63)],
  [`${'a'.repeat(62)} b`, 'a'.repeat(62)],
])('%j becomes the label value %j', (text, value) => {
  expect(toLabelValue(text)).toBe(value);
  expect(isLabelValue(value)).toBe(true);
});

it('the shape of a virtual machine is a label value', () => {
  expect(instanceTypeOfSize({ cpus: 4, memoryMiB: 8192 })).toBe('4cpu-8192mib');
});

it('every label may be set by the kubelet of a worker, and what is unknown has none', () => {
  const labels = placementLabelsOf({ instanceType: 'AX42', region: 'fsn1', zone: 'fsn1-dc18' });
  expect(Object.keys(labels)).toHaveLength(3);
  expect(Object.keys(labels).filter((key) => !isKubeletSettableLabel(key))).toEqual([]);
  expect(placementLabelsOf({ zone: 'east' })).toEqual({ 'topology.kubernetes.io/zone': 'east' });
});
