<#
  UNTESTED DRAFT: forge-agent on Windows. Nobody has run it yet, and `make dist` builds no Windows
  program: build one there (cargo build --profile dist -p forge-agent) and say where it is.

  .\install.ps1 -Hub https://hub.example.com -Program .\forge-agent.exe
  .\install.ps1 -Uninstall
#>
[CmdletBinding()]
param(
    [string] $Hub = $env:HUB_URL,
    [string] $Id = $env:COMPUTERNAME.ToLowerInvariant(),
    [string] $Program,
    [switch] $Uninstall
)

Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'

$Folder = Join-Path $env:ProgramFiles 'ForgeFleet'
$Data = Join-Path $env:ProgramData 'ForgeFleet'
$Task = 'ForgeFleetAgent'

function Remove-Agent {
    if (Get-ScheduledTask -TaskName $Task -ErrorAction SilentlyContinue) {
        Stop-ScheduledTask -TaskName $Task
        Unregister-ScheduledTask -TaskName $Task -Confirm:$false
    }
    foreach ($Path in @($Folder, $Data)) {
        if (Test-Path $Path) { Remove-Item -Recurse -Force $Path }
    }
    Write-Output 'Removed the agent, its settings and its data.'
}

function Install-Agent {
    if (-not $Hub) { throw 'Where is the hub? Say -Hub https://hub.example.com' }
    if (-not $Program -or -not (Test-Path $Program)) { throw 'Say with -Program where forge-agent.exe is.' }
    # Typed, not an argument: others can see the arguments of a program.
    $Secret = Read-Host -AsSecureString "A worker's token of $Hub"
    $Token = [System.Net.NetworkCredential]::new('', $Secret).Password

    New-Item -ItemType Directory -Force -Path $Folder, $Data | Out-Null
    Copy-Item -Force $Program (Join-Path $Folder 'forge-agent.exe')

    # Only the system and administrators may read the token.
    & icacls.exe $Data /inheritance:r /grant '*S-1-5-18:(OI)(CI)F' '*S-1-5-32-544:(OI)(CI)F' | Out-Null
    $Settings = Join-Path $Data 'agent.toml'
    $State = $Data.Replace('\', '/')
    @(
        "hub_url = `"$Hub`""
        "ingest_secret = `"$Token`""
        "node_id = `"$Id`""
        'worker_enabled = true'
        "solver_cache_dir = `"$State/solvers`""
        "state_dir = `"$State/state`""
    ) | Set-Content -Encoding utf8 $Settings

    $Action = New-ScheduledTaskAction -Execute (Join-Path $Folder 'forge-agent.exe') -Argument "--config `"$Settings`""
    $Trigger = New-ScheduledTaskTrigger -AtStartup
    $Rules = New-ScheduledTaskSettingsSet -RestartCount 999 -RestartInterval (New-TimeSpan -Minutes 1) -ExecutionTimeLimit 0
    Register-ScheduledTask -Force -TaskName $Task -Action $Action -Trigger $Trigger -Settings $Rules -User 'SYSTEM' | Out-Null
    Start-ScheduledTask -TaskName $Task
    Write-Output "Started. '$Id' should appear on the dashboard of $Hub within a minute."
}

if ($Uninstall) { Remove-Agent } else { Install-Agent }
