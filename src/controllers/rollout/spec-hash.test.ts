import { expect, it } from 'vitest';
import { aSpec } from '../../../test/support/fixtures/builders.ts';
import { hashSpec } from './spec-hash.ts';

it('changes with what machines are to be, and not with the rules of the rollout', () => {
  const before = hashSpec(aSpec(), '1.0.0');
  const window = { from: '22:00', to: '04:00' };
  expect(
    hashSpec(
      aSpec((raw) => Object.assign(raw, { rollout: { maxClusters: 3, windows: [window] } })),
      '1.0.0',
    ),
  ).toBe(before);
  expect(
    hashSpec(
      aSpec((raw) => Object.assign(raw, { talos: { version: '1.13.8' } })),
      '1.0.0',
    ),
  ).not.toBe(before);
  expect(hashSpec(aSpec(), '1.0.1')).not.toBe(before);
});
