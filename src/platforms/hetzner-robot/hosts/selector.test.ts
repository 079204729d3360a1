import { expect, it } from 'vitest';
import { RobotConfig } from '../config.ts';
import { selectorMismatch } from './selector.ts';

const selector = (hostSelector: object) =>
  RobotConfig.parse({ credentialsRef: { name: 'robot' }, sizes: [{ name: 'any', hostSelector }] }).sizes[0]!
    .hostSelector;

const labels = { disk: 'nvme', rack: '' };

it.each<[object, string | undefined]>([
  [{}, undefined],
  [{ matchLabels: { disk: 'nvme' } }, undefined],
  [{ matchLabels: { disk: 'nvme', dc: 'fsn1' } }, 'without the label dc=fsn1'],
  [{ matchLabels: { disk: 'ssd' } }, 'without the label disk=ssd'],
  [{ matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd', 'nvme'] }] }, undefined],
  [{ matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] }, 'not matching disk In (ssd)'],
  [{ matchExpressions: [{ key: 'disk', operator: 'NotIn', values: ['nvme'] }] }, 'not matching disk NotIn (nvme)'],
  [{ matchExpressions: [{ key: 'none', operator: 'NotIn', values: ['nvme'] }] }, undefined],
  [{ matchExpressions: [{ key: 'rack', operator: 'Exists' }] }, undefined],
  [{ matchExpressions: [{ key: 'toString', operator: 'Exists' }] }, 'not matching toString Exists'],
  [{ matchExpressions: [{ key: 'rack', operator: 'DoesNotExist' }] }, 'not matching rack DoesNotExist'],
])('%j', (given, why) => {
  expect(selectorMismatch(selector(given), labels)).toBe(why);
});
