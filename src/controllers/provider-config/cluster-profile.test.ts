import { expect, it } from 'vitest';
import { checkProfileName } from './cluster-profile.ts';

const check = (config: string) => checkProfileName('test', 'talos', config);

it('C9: the complete name of a profile is a valid label value', () => {
  expect(check('c'.repeat(52))).toEqual([]);
  expect(check('c'.repeat(53))).toEqual([
    expect.objectContaining({
      field: 'metadata.name',
      message: expect.stringMatching(/64 characters, which exceeds the 63 characters .* of at most 52 characters\.$/),
    }),
  ]);
});
