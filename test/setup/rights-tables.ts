import { documentRights } from '../../src/talos/config/rights/document-rights.ts';
import { mainRights } from '../../src/talos/config/rights/main-rights.ts';
import { modules, sysctls } from '../../src/talos/config/rights/names.ts';
import type { Right } from '../../src/talos/config/rights/right.ts';

type Table = (head: readonly string[], rows: readonly (readonly string[])[]) => string;

const code = (text: string): string => `\`${text}\``;

/** One row for each reason, with all that it is the reason for. */
function rowsOf(rights: readonly Right[]): string[][] {
  const reasons = [...new Set(rights.map(({ because }) => because))];
  return reasons.map((reason) => {
    const paths = rights.filter(({ because }) => because === reason).map(({ path }) => path);
    return [paths.map((path) => code(path.replaceAll('.[]', '[]'))).join(', '), reason];
  });
}

/** The tables of docs/security.md, by the name in their markers. */
export const rightsTables = (table: Table): Readonly<Record<string, () => string>> => ({
  rights: () => table(['In the main document', 'Because it'], rowsOf(mainRights)),
  documents: () =>
    table(
      ['Kind', 'What', 'Because it'],
      Object.entries(documentRights).flatMap(([kind, { rights }]) => rowsOf(rights).map((row) => [code(kind), ...row])),
    ),
  sysctls: () => table(['Settings of the kernel'], [[[...sysctls].map(code).join(', ')]]),
  modules: () => table(['Modules of the kernel'], [[[...modules].map(code).join(', ')]]),
});
