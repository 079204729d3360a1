import { allowedModules, allowedSysctls } from '../../src/talos/config/permissions/allowed-names.ts';
import { documentPermissions } from '../../src/talos/config/permissions/document-permissions.ts';
import { mainDocumentPermissions } from '../../src/talos/config/permissions/main-document-permissions.ts';
import type { PatchPermission } from '../../src/talos/config/permissions/patch-permission.ts';

type Table = (head: readonly string[], rows: readonly (readonly string[])[]) => string;

const code = (text: string): string => `\`${text}\``;

/** One row for each reason, with all fields that it applies to. */
function rowsOf(rights: readonly PatchPermission[]): string[][] {
  const reasons = [...new Set(rights.map(({ reason: because }) => because))];
  return reasons.map((reason) => {
    const paths = rights.filter(({ reason: because }) => because === reason).map(({ path }) => path);
    return [paths.map((path) => code(path.replaceAll('.[]', '[]'))).join(', '), reason];
  });
}

/** The tables of docs/security.md, by the name in their markers. */
export const permissionTables = (table: Table): Readonly<Record<string, () => string>> => ({
  rights: () => table(['In the main document', 'Because it'], rowsOf(mainDocumentPermissions)),
  documents: () =>
    table(
      ['Kind', 'What', 'Because it'],
      Object.entries(documentPermissions).flatMap(([kind, { permissions }]) =>
        rowsOf(permissions).map((row) => [code(kind), ...row]),
      ),
    ),
  sysctls: () => table(['Settings of the kernel'], [[[...allowedSysctls].map(code).join(', ')]]),
  modules: () => table(['Modules of the kernel'], [[[...allowedModules].map(code).join(', ')]]),
});
