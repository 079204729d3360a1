import { expect, it } from 'vitest';
import { recipientLength } from '../../api/schema/backup-schema.ts';
import { parseRecipients } from './option-values.ts';

const ofLength = (length: number): string => `age1${'q'.repeat(length - 4)}`;
const { min, max } = recipientLength;

it.each([min, max])('a recipient of %i characters is accepted', (length) => {
  expect(parseRecipients(ofLength(length))).toEqual([ofLength(length)]);
});

it.each([min - 1, max + 1])('a recipient of %i characters is rejected', (length) => {
  expect(() => parseRecipients(ofLength(length))).toThrow(/Use the public key of an identity/);
});
