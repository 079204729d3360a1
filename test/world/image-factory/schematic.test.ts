import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { computeSchematicId } from '../../../src/talos/image-factory/client.ts';
import { schematicVectors } from '../../support/fixtures/schematic-vectors.ts';
import { parseSchematic } from './schematic.ts';

const bodyOf = (extensions: readonly string[], kernelArguments: readonly string[]): string =>
  JSON.stringify({
    customization: { extraKernelArgs: kernelArguments, systemExtensions: { officialExtensions: extensions } },
  });

describe('the id of a schematic at the simulated factory', () => {
  test.each(schematicVectors)('is the one that Go computes from $title', ({ extensions, kernelArguments, id }) => {
    expect(parseSchematic(bodyOf(extensions, kernelArguments)).id).toBe(id);
  });

  test('is the one that the product computes: the two implementations share no code', () => {
    const name = fc.stringMatching(/^[a-z0-9.-]{1,12}\/[a-z0-9.-]{1,12}$/);
    const argument = fc.oneof(
      fc.stringMatching(/^-?[a-z_.]{1,12}(?:=[A-Za-z0-9:,./?&-]{0,16})?$/),
      fc.stringMatching(/^[ -~]{1,10}$/),
      fc.stringMatching(/^[-+.:eExo0-9]{1,8}$/),
    );
    fc.assert(
      fc.property(
        fc.array(name, { maxLength: 4 }),
        fc.array(argument, { maxLength: 4 }),
        (extensions, kernelArguments) => {
          const { id } = parseSchematic(bodyOf(extensions, kernelArguments));
          expect(computeSchematicId({ extensions, kernelArguments })).toBe(id);
        },
      ),
      { numRuns: 500 },
    );
  });

  test.each([
    [
      'an overlay, its options in order of their names',
      '{"overlay":{"name":"x","image":"y","options":{"b":1,"a":"z"}}}',
      'overlay:\n    image: "y"\n    name: x\n    options:\n        a: z\n        b: 1\ncustomization: {}\n',
    ],
    [
      'a configuration of several lines',
      '{"customization":{"embeddedMachineConfiguration":"machine:\\n  type: worker\\n"}}',
      'customization:\n    embeddedMachineConfiguration: |\n        machine:\n          type: worker\n',
    ],
    [
      'META values',
      '{"customization":{"meta":[{"key":10,"value":"a:\\n    - b\\n"},{"value":"12","key":11}]}}',
      'customization:\n    meta:\n        - key: 10\n          value: |\n            a:\n                - b\n        - key: 11\n          value: "12"\n',
    ],
  ])('is computed from the canonical form: %s', (_, body, canonical) => {
    expect(parseSchematic(body).canonical).toBe(canonical);
  });

  test.each([
    [
      'a key of META that needs more than a byte',
      '{"customization":{"meta":[{"key":256,"value":"x"}]}}',
      /256 into uint8/,
    ],
    ['a key of META that is not a number', '{"customization":{"meta":[{"key":"x","value":"x"}]}}', /into uint8/],
    ['a boot loader that Talos does not have', '{"customization":{"bootloader":"lilo"}}', /lilo does not belong/],
  ])('refuses %s', (_, body, words) => {
    expect(() => parseSchematic(body)).toThrow(words);
  });

  test('accepts the boot loaders of Talos in any case', () => {
    expect(parseSchematic('{"customization":{"bootloader":"SD-Boot"}}').canonical).toContain('bootloader: sd-boot');
    expect(parseSchematic('{"customization":{"bootloader":"none"}}').canonical).toBe('customization: {}\n');
  });
});
