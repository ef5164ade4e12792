//! A stand-in for the door: starts what stands after `--`, forwards every signal, ends with its code.
#![cfg_attr(not(test), no_main)]

use std::time::Duration;

use tidegate::child::{Command, Inherited, Leftovers, Reaper, Role, Signals, Target, Terminal};

tidegate::child::door!(run);

/// How long leftovers get between SIGTERM and SIGKILL, and to be gone after it.
const KILL_WAIT: Duration = Duration::from_secs(1);

fn run(inherited: Inherited) -> u8 {
    let mut words = inherited
        .arguments()
        .iter()
        .cloned()
        .skip_while(|word| word != "--")
        .skip(1);
    let Some(program) = words.next() else {
        eprintln!("tidegate: no command: write tidegate -- COMMAND");
        return 125;
    };
    match supervise(&Command::new(program, words.collect::<Vec<_>>()), inherited) {
        Ok(code) => code,
        Err((code, why)) => {
            eprintln!("tidegate: {why}");
            code
        }
    }
}

fn supervise(command: &Command, inherited: Inherited) -> Result<u8, (u8, String)> {
    let own = |why: std::io::Error| (125, why.to_string());
    let reaper = Reaper::open(inherited, Role::take()).map_err(own)?;
    let mut signals = Signals::open().map_err(own)?;
    let spawner = reaper.spawner();
    let terminal = Terminal::find();
    let child = match &terminal {
        Some(terminal) => spawner.spawn_on(command, terminal),
        None => spawner.spawn(command),
    };
    let child = std::sync::Arc::new(child.map_err(|why| (why.exit_code(), why.to_string()))?);
    let terminal = std::sync::Arc::new(terminal);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(own)?;
    let end = runtime.block_on(async {
        tokio::spawn(reaper.run());
        let forwarded = child.clone();
        tokio::spawn(async move {
            while let Ok(received) = signals.next().await {
                if let Err(why) = forwarded.forward(received, Target::Process) {
                    eprintln!("tidegate: {why}");
                }
            }
        });
        let (followed, leader) = (terminal.clone(), child.clone());
        tokio::spawn(async move {
            if let Some(terminal) = &*followed {
                terminal.follow(&leader).await;
            }
        });
        let end = child.ended().await;
        let leftovers = Leftovers::of(&spawner, &child);
        if tokio::time::timeout(KILL_WAIT, leftovers.terminate())
            .await
            .is_err()
        {
            let _ = tokio::time::timeout(KILL_WAIT, leftovers.kill()).await;
        }
        end
    });
    drop(runtime);
    drop(terminal);
    Ok(end.exit_code())
}
