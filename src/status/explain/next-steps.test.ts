import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { conditionReasons } from '../../api/conditions.ts';
import { guideOf, guideToRestore, guideToSilence } from './explanation.ts';
import { nextStepFor } from './next-steps.ts';

it.each(Object.keys(conditionReasons))('the next step of %s is one sentence or more', (reason) => {
  expect(nextStepFor(reason)).toMatch(/^[A-Z].*\.$/);
});

it('a reason of a platform, or an error code, refers to the message', () => {
  expect(nextStepFor('InsufficientMemory')).toBe('Do what the message says.');
  expect(nextStepFor('CONFIG_INVALID')).toBe('Do what the message says.');
  expect(nextStepFor('constructor')).toBe('Do what the message says.');
  expect(nextStepFor(undefined)).toMatch(/^Nothing/);
});

it('the documentation has each section that is named', () => {
  const kinds = ['Cluster', 'Machine', 'Host', 'AccessRequest', 'ProviderConfig'] as const;
  const missing = [guideToSilence, guideToRestore, ...kinds.map(guideOf)].filter((guide) => {
    const [page = '', section] = guide.split('#');
    const text = readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8');
    const headings = [...text.matchAll(/^##+ (.+)$/gm)].map(([, heading = '']) => heading.toLowerCase());
    return !headings.some((heading) => heading.replaceAll(' ', '-') === section);
  });
  expect(missing).toEqual([]);
});
