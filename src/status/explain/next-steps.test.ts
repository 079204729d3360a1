import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { conditionReasons } from '../../api/conditions.ts';
import { guideOf, guideToSilence } from './explanation.ts';
import { nextStepFor } from './next-steps.ts';

it.each(Object.keys(conditionReasons))('the next step of %s is one sentence or more', (reason) => {
  expect(nextStepFor(reason)).toMatch(/^[A-Z].*\.$/);
});

it('a reason of a platform, or an error code, refers to the message', () => {
  expect(nextStepFor('MemoryShort')).toBe('Do what the message says.');
  expect(nextStepFor('CONFIG_INVALID')).toBe('Do what the message says.');
  expect(nextStepFor('constructor')).toBe('Do what the message says.');
  expect(nextStepFor(undefined)).toMatch(/^Nothing/);
});

it('the guide has each section that is named', () => {
  const guide = readFileSync(new URL('../../../docs/troubleshoot.md', import.meta.url), 'utf8');
  const headings = [...guide.matchAll(/^## (.+)$/gm)].map(([, text = '']) => text.toLowerCase().replaceAll(' ', '-'));
  const kinds = ['Cluster', 'Machine', 'Host', 'AccessRequest', 'ProviderConfig'] as const;
  const anchors = [guideToSilence, ...kinds.map(guideOf)].map((path) => path.replace('docs/troubleshoot.md#', ''));
  expect(anchors.filter((anchor) => !headings.includes(anchor))).toEqual([]);
});
