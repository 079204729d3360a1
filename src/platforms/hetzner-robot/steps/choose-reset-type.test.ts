import { expect, it } from 'vitest';
import { chooseResetType } from './choose-reset-type.ts';

type Arguments = Parameters<typeof chooseResetType>;
const all = ['power', 'power_long', 'sw', 'hw', 'man'];

it.each<[string, Arguments, ReturnType<typeof chooseResetType>]>([
  ['the first that is preferred', [['hw', 'power', 'sw'], all, undefined, 0], 'hw'],
  ['the next one where that had no effect', [['hw', 'power', 'sw'], all, 'on', 1], 'sw'],
  ['not the button of a server that runs', [['power', 'hw'], all, 'on', 0], 'hw'],
  ['the button of one that is off, whatever is preferred', [['hw', 'sw'], all, 'off', 0], 'power'],
  ['what there is', [['hw', 'power'], ['power', 'man'], undefined, 3], 'power'],
  ['nothing where only a technician can help', [['hw', 'power', 'sw'], ['man'], 'off', 0], undefined],
])('H14: takes %s', (_, given, type) => {
  expect(chooseResetType(...given)).toBe(type);
});
