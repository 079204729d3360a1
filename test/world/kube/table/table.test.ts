import { describe, expect, it } from 'vitest';
import { compareVersions } from '../discovery/groups.ts';
import { formatAge, humanDuration } from './human-duration.ts';
import { compileJsonPath } from './json-path.ts';

const seconds = 1000;
const minutes = 60 * seconds;
const hours = 60 * minutes;
const days = 24 * hours;

describe('ages', () => {
  it.each([
    [-5 * seconds, '<invalid>'],
    [-1.5 * seconds, '0s'],
    [119 * seconds, '119s'],
    [2 * minutes, '2m'],
    [9 * minutes + 59 * seconds, '9m59s'],
    [10 * minutes + 59 * seconds, '10m'],
    [179 * minutes, '179m'],
    [3 * hours, '3h'],
    [7 * hours + 59 * minutes, '7h59m'],
    [47 * hours + 59 * minutes, '47h'],
    [2 * days + 5 * hours, '2d5h'],
    [8 * days + 5 * hours, '8d'],
    [729 * days, '729d'],
    [2 * 365 * days + 3 * days, '2y3d'],
    [9 * 365 * days, '9y'],
  ])("of %d ms have kubectl's format", (milliseconds, words) => {
    expect(humanDuration(milliseconds)).toBe(words);
  });

  it('without a time or with an invalid one are marked', () => {
    expect([formatAge(undefined), formatAge(''), formatAge('yesterday')]).toEqual([
      '<unknown>',
      '<unknown>',
      '<invalid>',
    ]);
  });
});

describe('column paths', () => {
  const object = {
    metadata: { annotations: { 'example.com/a': 'x' } },
    status: {
      conditions: [
        { type: 'Synced', status: 'False' },
        { type: 'Ready', status: 'True' },
      ],
      list: [1, 2, 3],
      zero: 0,
    },
  };

  it.each([
    ['.status.zero', [0]],
    ['.status.conditions[?(@.type=="Ready")].status', ['True']],
    [`.status.conditions[?(@.type=='Gone')].status`, []],
    ['.metadata.annotations.example\\.com/a', ['x']],
    [`.metadata.annotations['example.com/a']`, ['x']],
    ['.status.list[0]', [1]],
    ['.status.list[-1]', [3]],
    ['.status.list[9]', []],
    ['.status.conditions[*].type', ['Synced', 'Ready']],
    ['.nothing.at.all', []],
  ])('%s', (path, found) => {
    expect(compileJsonPath(path)?.(object)).toEqual(found);
  });

  it('beyond the supported subset are undefined', () => {
    expect(compileJsonPath('.a[?(@.b > 1 && @.c < 2)]')).toBeUndefined();
  });
});

it('versions are in the order of preference', () => {
  const names = ['foo10', 'v1alpha1', 'v3beta1', 'v11beta2', 'v1', 'v10', 'v2', 'v12alpha1', 'foo1', 'v10beta3'];
  expect(names.sort(compareVersions)).toEqual([
    'v10',
    'v2',
    'v1',
    'v11beta2',
    'v10beta3',
    'v3beta1',
    'v12alpha1',
    'v1alpha1',
    'foo1',
    'foo10',
  ]);
});
