import { describe, expect, it } from 'vitest';
import { parseLsblkLine, unescapeHex } from './lsblk-pairs.ts';

describe('lines of lsblk -P', () => {
  it.each([
    ['nothing known', 'NAME="sda" MODEL=""', { NAME: 'sda', MODEL: '' }],
    ['spaces, which stay', 'VENDOR="ATA     " MODEL="EXAMPLE HD4000"', { VENDOR: 'ATA     ', MODEL: 'EXAMPLE HD4000' }],
    ['a quote in a name', 'SERIAL="A\\x22 B=\\x22C" SIZE="5"', { SERIAL: 'A" B="C', SIZE: '5' }],
    ['a command in a name', 'LABEL="\\x24(reboot)\\x60id\\x60"', { LABEL: '$(reboot)`id`' }],
    ['a backslash', 'LABEL="a\\x5cx41"', { LABEL: 'a\\x41' }],
    ['a character of several bytes', 'LABEL="\\xc3\\xbcber"', { LABEL: 'über' }],
    [
      'columns with a dash or a percent sign',
      'LOG-SEC="512" FSUSE%="" MAJ_MIN="8:0"',
      { 'LOG-SEC': '512', 'FSUSE%': '', MAJ_MIN: '8:0' },
    ],
    ['what would be an equals sign elsewhere', 'LABEL="x=" NAME="y"', { LABEL: 'x=', NAME: 'y' }],
  ])('with %s', (_what, line, expected) => expect(parseLsblkLine(line)).toEqual(expected));

  it.each(['NAME=sda', 'NAME="sda', 'NAME="a"b"', 'lsblk: unknown column: X', '="x"'])('are refused: %s', (line) =>
    expect(() => parseLsblkLine(line)).toThrow(SyntaxError),
  );
});

it('only complete escapes are decoded', () => expect(unescapeHex('\\x4 \\xzz \\x41')).toBe('\\x4 \\xzz A'));
