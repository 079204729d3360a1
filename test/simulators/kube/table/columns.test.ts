import { expect, it } from 'vitest';
import { valueAtColumnPath } from '../../../world/kube/table/columns.ts';
import { formatAge, humanDuration } from '../../../world/kube/table/human-duration.ts';

const [minutes, hours, days] = [60_000, 3_600_000, 86_400_000];

it.each([
  [-5000, '<invalid>'],
  [119_000, '119s'],
  [9 * minutes + 59_000, '9m59s'],
  [179 * minutes, '179m'],
  [7 * hours + 59 * minutes, '7h59m'],
  [47 * hours + 59 * minutes, '47h'],
  [2 * days + 5 * hours, '2d5h'],
  [729 * days, '729d'],
  [2 * 365 * days + 3 * days, '2y3d'],
])("an age of %d ms has kubectl's format", (milliseconds, words) => {
  expect(humanDuration(milliseconds)).toBe(words);
  expect([formatAge(undefined), formatAge('yesterday')]).toEqual(['<unknown>', '<invalid>']);
});

it.each([
  ['.status.zero', 0],
  ['.status.conditions[?(@.type=="Ready")].status', 'True'],
  [`.status.conditions[?(@.type=='Gone')].status`, undefined],
  ['.metadata.annotations.example\\.com/a', 'x'],
  ['.nothing.at.all', undefined],
])('the column path %s finds %s', (path, found) => {
  const conditions = ['Synced', 'Ready'].map((type) => ({ type, status: type === 'Ready' ? 'True' : 'False' }));
  const object = { metadata: { annotations: { 'example.com/a': 'x' } }, status: { conditions, zero: 0 } };
  expect(valueAtColumnPath(object, path)).toBe(found);
});
